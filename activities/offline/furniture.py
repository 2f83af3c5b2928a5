"""What stands in a document and states nothing: fields, menus, greetings, code, talk of itself.

`states_nothing` tells these lines from statements. Everyday forms of mail, web pages, minutes and
technical documentation only; nothing here knows a topic.
"""

from __future__ import annotations

import re
from functools import lru_cache

_FIELD = re.compile(
    r"^\W*(?:from|to|cc|bcc|subject|date|sent|reply-to|folder|attachments?|email id|message-id|"
    r"name|e-?mail|tel|phone|fax|status|username|user|channel|members?|author|prepared (?:by|for)|"
    r"in attendance|present|attendees|participants|apologies|chair|secretary|venue|"
    r"distribution|document (?:id|number)|version|doi|isbn|keywords|tags|url|website|contact|"
    r"classifier|licen[cs]e|home ?page|maintainer|platform|attn|re|fwd|see also|categories|"
    r"hidden categories|retrieved from)\s*:",
    re.I,
)
# "Requires-Dist: …", "Content-Type: …": a header of mail, web or package.
_HEADER = re.compile(r"^[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)+: ")
_FURNITURE = re.compile(
    r"all rights reserved|©|\bcookies?\b.*\b(?:accept|policy|settings)|privacy policy|terms of use|"
    r"click here|skip to (?:main )?content|subscribe (?:to|now)|"
    r"^(?:sign up|log ?in|register)\b|\b(?:sign up|log ?in|register) (?:here|now)|follow us|"
    r"read more|back to top|table of contents|\.{4,}|(?:…\s*){2,}|_{4,}|={4,}|-{5,}|"
    r"^page \d+|\bpage \d+ of \d+|^about the columns:|^end of (?:e-?mail|export|document)|"
    r"\bhave attached\b|\bis attached\b|\battached (?:is|are|you|to)\b|download the|"
    r"for (?:more|further) information|this e-?mail (?:and|is)|confidentiality notice|"
    r"intended recipient|registered office|authorised and regulated|"
    r"view history|edit links|move to sidebar|permanent link|page information|cite this page|"
    r"authority control|hidden categories|this page was last|\boldid=|"
    r"\w\]? > \[?[A-Z]|https? ?: ?//|^\^ |^\[\^|^\[\d{4}-\d\d|"
    r"code of conduct|minutes of (?:the )?(?:last|previous|\d).{0,30}\bapproved|"
    r"printed on|last (?:updated|modified)|^(?:table|figure|fig\.?|chart|exhibit) \d+[.:]?\s",
    re.I,
)
_COURTESY = re.compile(
    r"^(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|greetings|thanks|thank you|regards|"
    r"best|kind regards|sincerely|cheers|yours|welcome|congrat\w*|please|let me know|let's|sure|"
    r"great|absolutely|sounds good|feel free|looking forward|i look forward|i hope|"
    r"(?:i|we)(?:'d| would) (?:like to|love to|be happy to|appreciate)|"
    r"i'm (?:happy|glad|writing)|i agree|happy to|would you|could you|can you)\b|"
    r"\b(?:let me know|i (?:wanted|want|would like|need (?:us|you)) to|i am writing|"
    r"as (?:you|we all) know|you may wonder|"
    r"(?:suggest|propose) we (?:meet|schedule|talk)|our calendars?|calendar invit\w+|"
    r"look(?:ing)? forward to|hope this|finds you well|reach out|"
    r"your (?:thoughts|feedback|questions)|kind words|happy to (?:discuss|meet|share|help))\b",
    re.I,
)
_SELF_REFERENCE = re.compile(
    r"^(?:in (?:conclusion|summary)|to (?:conclude|summarise|summarize)|"
    r"(?:this|the(?: following)?|our) (?:\w+ ){0,2}?"
    r"(?:report|document|section|chapter|paper|article|page|memo|"
    r"presentation|appendix|guide|slide|deck|overview|analysis|review|table|figure|memorandum|"
    r"e-?mail|note|spreadsheet|sheet|dashboard)s? "
    r"(?:also |further |then |next )?"
    r"(?:is\b|outlines?|provides?|presents?|describes?|aims?|explores?|examines?|covers?|"
    r"summari[sz]es?|discusses|details|delves?|seeks?|introduces?|focus(?:es)?|offers?|contains?|"
    r"lists?|serves?|highlights?|leverages?|draws? on|explains?|shows how|sets? out|"
    r"will\b|has outlined|underscores?))|"
    r"\b(?:this|the present) (?:strategic )?(?:report|document|paper) (?:outlines|leverages|sets? "
    r"out|presents|describes)\b|"
    r"\b(?:next|following|previous) (?:section|chapter|slide|page)s?\b|future reports will",
    re.I,
)
# Words that send the reader elsewhere, or lead up to what stands below: no statement of their own.
_POINTER = re.compile(
    r"^(?:please )?(?:see|refer to|consult|visit|check out|have a look at|take a look at|read|cf\.)"
    r"(?: also)? (?:the|our|this|these|that|section|chapter|appendix|table|figure|below|above|here|"
    r"\[|[A-Z\"“'])"
    r"|\b(?:more|further|additional|other|detailed) (?:information|details?|guidance|reading|"
    r"documentation|resources|examples)\b.{0,60}\b(?:can be found|(?:is|are) (?:available|"
    r"provided|described|given|listed)|see|refer|found (?:in|at|on|here))\b"
    r"|\b(?:you (?:may|can|should) (?:also )?(?:refer to?|consult|find (?:more|further|out more)|"
    r"read (?:more )?about)|refer (?:to )?the (?:\w+ ){0,4}(?:guide|section|documentation|sheet)|"
    r"(?:see|as (?:described|shown|listed|discussed|explained|outlined|mentioned|noted|defined)|"
    r"(?:listed|described|shown|outlined|detailed|mentioned|discussed|linked)) "
    r"(?:in more detail )?(?:above|below|elsewhere|earlier|later|previously)\b)"
    r"|\bfor (?:more|further|additional|full) (?:details?|information|guidance|context)\b"
    r"|^(?:the )?following (?:\w+ ){0,3}(?:are|is|shows?|illustrates?|lists?|summar\w+|code|"
    r"example|table|snippet|list|steps?)\b|^(?:note that )?the following (?:code|example|table|"
    r"snippet|list|diagram|image|figure|section|steps?)\b"
    r"|\bthe (?:below|above|following) (?:\w+ ){1,3}because\b"
    r"|^(?:here|below|above) (?:is|are)\b|\bhere (?:is|are) (?:the|some|a few|an?) |"
    r"^contact (?:your|the|us|our)\b|^prepared (?:by|for)\b|^(?:amended|superseded) by\b|"
    r"^\d{1,3}; [A-Z]|^\[[^\[\]]+\]\.?$|^as a side ?note\b|^with (?:[\w.]+ ){1,3}containing\b",
    re.I,
)
# Marks of a program, a command line or a list of requirements.
_CODE = re.compile(
    r"^[$>%] |^>>> |^#!|=>|->|\(\);|[{}]|==|[<>~]=|\s--?[a-z][\w-]*(?:[= ]|$)|\\\S|</?[a-z]\w*>|"
    r"\w\(\)\.\w|^\w+ = |\w=[\w\"'/]|^(?:import|from \w[\w.]* import|def|class|const|let|var|"
    r"export|pip|npm|npx|uv|git|cd|sudo|curl|docker) |\w/\w+/\w|''|(?<=\w)::(?=\w)|"
    r"^(?:INFO|ERROR|WARN(?:ING)?|DEBUG|TRACE|FATAL)\b|"
    r"[\w/-]\.(?:webm|jsx?|tsx?|py|json|ya?ml|toml|md|png|sh|exe|zip)\b"
)
_TEMPLATE = re.compile(r"\{%|%\}|\{\{|^(?://|/\*|= note:)")
_END = re.compile(r"[.!…][\"'”’)\]*_]*$")


@lru_cache(maxsize=20_000)
def states_nothing(text: str) -> bool:
    """Whether a line, list marks taken off, is something else than a statement."""
    return bool(
        _FIELD.match(text)
        or _HEADER.match(text)
        or _FURNITURE.search(text)
        or " | " in text
        or text.endswith("?")
        or "@" in text
        or "://" in text
        or _COURTESY.search(text)
        or _SELF_REFERENCE.search(text)
        or _POINTER.search(text)
        or is_code(text)
    )


def is_field(text: str) -> bool:
    """A line of a letter's head, a form or a page's frame, whatever its form."""
    return bool(_FIELD.match(text) or _HEADER.match(text) or _FURNITURE.search(text))


@lru_cache(maxsize=20_000)
def is_code(text: str) -> bool:
    """Words for a machine. Prose may name an option or two; a command has little else."""
    if _TEMPLATE.search(text):
        return True
    found = len(_CODE.findall(text))
    if not found:
        return False
    prose = text[:1].isupper() and bool(_END.search(text))
    return found > 2 + len(text.split()) / 12 if prose else True
