"""The one tokenizer, stop list, lemmatizer, sentence splitter and month table of the project."""
