/* A citation opens the quotes that support its sentence, with the text around them. Everything shown
   is a copy of elements in the list of sources; no HTML is made from text. */
"use strict";
(() => {
  const panel = document.getElementById("panel");
  const wide = matchMedia("(min-width: 74rem)");
  let opener = null;
  let returned = null;

  const make = (name, kind, text) => {
    const element = document.createElement(name);
    if (kind) element.className = kind;
    if (text) element.textContent = text;
    return element;
  };

  const copy = (element) => {
    const copied = element.cloneNode(true);
    copied.removeAttribute("id");
    return copied;
  };

  /* The text in front of a citation, back to the previous citation. */
  const sentence = (cite) => {
    const row = cite.closest("figure tr");
    if (row) {
      const range = document.createRange();
      range.selectNodeContents(row.querySelector("th"));
      return range;
    }
    const block = cite.closest(".side, li, p, td, blockquote");
    const position = block.querySelector(":scope > .position");
    const range = document.createRange();
    if (position) {
      range.selectNodeContents(position);
      return range;
    }
    const marks = [...block.querySelectorAll("a.cite, a.dispute")];
    range.selectNodeContents(block);
    range.setEndBefore(cite);
    for (let i = marks.indexOf(cite) - 1; i >= 0; i -= 1) {
      const between = document.createRange();
      between.setStartAfter(marks[i]);
      between.setEnd(range.endContainer, range.endOffset);
      if (/[\p{L}\p{N}]/u.test(between.toString())) {
        range.setStart(between.startContainer, between.startOffset);
        const next = marks[i].nextSibling;
        /* The stop that follows the citation before is not part of the sentence. */
        if (next instanceof Text) range.setStart(next, next.data.match(/^[\s.,;:!?)]*/)[0].length);
        break;
      }
      range.setEndBefore(marks[i]);
    }
    return range;
  };

  const shorter = (text) => (text.length > 320 ? `${text.slice(0, 320).replace(/\s\S*$/, "")} …` : text);

  /* A quote as the list of sources has it, set into what stands about it. */
  const inContext = (quote) => {
    const copied = copy(quote);
    const block = copied.querySelector("blockquote");
    const { before, after } = block.dataset;
    const words = make("mark", "", block.textContent);
    block.replaceChildren(make("span", "near", before), words, make("span", "near", after));
    return copied;
  };

  const list = (quotes) => {
    const made = make("ol", "quotes");
    made.append(...quotes.map(inContext));
    return made;
  };

  const fill = (cite, source, range) => {
    const bar = make("div", "bar");
    const close = make("button", "", "Close");
    close.type = "button";
    close.addEventListener("click", shut);
    bar.append(make("span", "", `Source ${source.id.replace("source-", "")}`), close);
    const inside = make("div", "inside");
    const title = make("h2");
    title.id = "panel-h";
    title.tabIndex = -1;
    title.append(...[...source.querySelector("h3").childNodes].slice(1).map((n) => n.cloneNode(true)));
    title.dir = "auto";
    inside.append(title, copy(source.querySelector(".facts")));

    const all = [...source.querySelectorAll(".quote")];
    const named = (cite.dataset.quotes || "").split(" ").filter(Boolean);
    const backing = named.map((id) => document.getElementById(id)).filter(Boolean);
    const others = all.filter((quote) => !backing.includes(quote));
    const words = range.toString().replace(/\s+/g, " ").trim();
    if (words) {
      inside.append(make("h3", "", "The sentence"), make("p", "sentence", shorter(words)));
    }
    if (backing.length) {
      inside.append(make("h3", "", backing.length === 1 ? "is supported by" : `is supported by ${backing.length} quotes`));
      inside.append(list(backing));
    } else {
      const heading = "The sentence matches no single quote; all quotes of this source:";
      inside.append(make("h3", "", all.length > 1 ? heading : "The quote of this source"), list(all));
    }
    if (backing.length && others.length) {
      const more = make("details");
      const count = others.length === 1 ? "1 other quote" : `${others.length} other quotes`;
      more.append(make("summary", "", `${count} from this source`));
      /* Made when it is looked at: a source may have hundreds. */
      more.addEventListener("toggle", () => more.append(list(others)), { once: true });
      inside.append(more);
    }
    inside.append(copy(source.querySelector(".stored")));
    const feedback = document.getElementById("feedback");
    if (feedback) {
      const button = make("button", "", "Wrong citation");
      button.type = "button";
      button.addEventListener("click", () => {
        const quote = (backing[0] ?? all[0])?.id;
        const option = [...feedback.querySelectorAll("option")].find((it) => it.dataset.quote === quote);
        if (option) option.selected = true;
        shut();
        feedback.open = true;
        feedback.querySelector("textarea").focus();
      });
      bar.insertBefore(button, close);
    }
    panel.replaceChildren(bar, inside);
    return title;
  };

  const light = (range) => {
    if (!window.Highlight || !CSS.highlights) return;
    if (range) CSS.highlights.set("cited", new Highlight(range));
    else CSS.highlights.delete("cited");
  };

  /* --- a card while a citation is pointed at or has the focus --------------------------------- */
  const card = document.getElementById("card");
  let shown = null;
  let timer = 0;

  const hide = () => {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    card.hidden = true;
  };

  const show = (cite) => {
    const source = document.querySelector(cite.getAttribute("href"));
    if (!source || panel.contains(cite) || cite === opener) return;
    hide();
    const named = (cite.dataset.quotes || "").split(" ").filter(Boolean);
    const quotes = named.length ? named.map((id) => document.getElementById(id)) : [...source.querySelectorAll(".quote")];
    const title = make("b", "", source.querySelector("h3").lastChild.textContent.trim());
    const facts = make("small", "", source.querySelector(".facts").firstChild.textContent.trim());
    const words = shorter(quotes[0]?.querySelector("blockquote").textContent ?? "");
    card.replaceChildren(title, facts);
    if (words) card.append(make("blockquote", "", words));
    if (quotes.length > 1) card.append(make("small", "", `and ${quotes.length - 1} more; the citation opens them`));
    card.hidden = false;
    shown = cite;
    cite.setAttribute("aria-describedby", "card");
    place();
  };

  const place = () => {
    if (!shown) return;
    const at = shown.getBoundingClientRect();
    if (at.bottom < 0 || at.top > innerHeight) {
      hide();
      return;
    }
    const below = at.bottom + card.offsetHeight + 12 < innerHeight;
    card.style.top = `${below ? at.bottom + 6 : Math.max(6, at.top - card.offsetHeight - 6)}px`;
    card.style.left = `${Math.max(8, Math.min(at.left - 20, innerWidth - card.offsetWidth - 8))}px`;
  };

  /* It stays while the pointer is on it, and a moment longer, so that one can go there. */
  const later = (action, delay) => {
    clearTimeout(timer);
    timer = setTimeout(action, delay);
  };
  if (matchMedia("(hover: hover)").matches) {
    document.addEventListener("pointerover", (event) => {
      const cite = event.target.closest("a.cite");
      if (cite && cite !== shown) later(() => show(cite), 150);
      else if (cite || card.contains(event.target)) clearTimeout(timer);
      else later(hide, 200);
    });
  }
  document.addEventListener("focusin", (event) => {
    const cite = event.target.closest("a.cite");
    if (cite && cite !== returned && cite.matches(":focus-visible")) show(cite);
    else if (!card.contains(event.target)) hide();
    returned = null;
  });
  addEventListener("scroll", place, { passive: true });

  const open = (cite) => {
    hide();
    const source = document.querySelector(cite.getAttribute("href"));
    if (!source) return false;
    if (panel.contains(cite)) return false;
    if (opener) opener.setAttribute("aria-expanded", "false");
    const range = sentence(cite);
    const title = fill(cite, source, range);
    opener = cite;
    cite.setAttribute("aria-expanded", "true");
    light(range);
    if (!panel.open) {
      if (wide.matches) panel.show();
      else panel.showModal();
    }
    panel.scrollTop = 0;
    title.focus({ preventScroll: true });
    return true;
  };

  function shut() {
    if (panel.open) panel.close();
    back();
  }

  /* At once, and when the browser closes the sheet by itself: its event comes a moment later. */
  function back() {
    light(null);
    if (!opener) return;
    opener.setAttribute("aria-expanded", "false");
    /* It has just been read: no card for the focus that comes back. */
    returned = opener;
    opener.focus({ preventScroll: true });
    opener = null;
  }

  panel.addEventListener("close", back);
  /* A click beside the sheet, and a link in it that leads elsewhere on the page, close it. */
  panel.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (event.target === panel) shut();
    if (link && !wide.matches) {
      opener.setAttribute("aria-expanded", "false");
      opener = null;
      shut();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hide();
    if (panel.open) {
      event.preventDefault();
      shut();
    }
  });
  document.addEventListener("click", (event) => {
    const cite = event.target.closest("a.cite");
    if (!cite || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (open(cite)) event.preventDefault();
  });
  wide.addEventListener("change", shut);
  for (const cite of document.querySelectorAll("a.cite")) cite.setAttribute("aria-expanded", "false");

  /* --- contents ------------------------------------------------------------------------------ */
  const contents = document.querySelector(".contents");
  const nav = contents.closest("nav");
  const unfold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && !wide.matches) contents.open = false;
  });
  const links = new Map([...contents.querySelectorAll("a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) {
        links.get(entry.target.id)?.removeAttribute("aria-current");
        continue;
      }
      for (const link of links.values()) link.removeAttribute("aria-current");
      const here = links.get(entry.target.id);
      here?.setAttribute("aria-current", "true");
      /* Dozens of facets do not fit: the list follows the reader. */
      if (here && wide.matches) nav.scrollTop = here.offsetTop - nav.clientHeight / 2;
    }
  }, { rootMargin: "-10% 0px -75%" });
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);

  /* --- light and dark ------------------------------------------------------------------------ */
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule instanceof CSSMediaRule && rule.media.mediaText.includes("prefers-color-scheme"));
  const kept = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("theme", value); } catch { /* not kept */ } } };
  let theme = kept.get();
  const paint = () => {
    const isDark = theme ? theme === "dark" : dark.matches;
    for (const rule of rules) rule.media.mediaText = isDark ? "screen" : "not all";
    document.documentElement.style.colorScheme = isDark ? "dark" : "light";
    button.textContent = isDark ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark ? "Show in light colours" : "Show in dark colours");
  };
  button.addEventListener("click", () => {
    theme = (theme ? theme === "dark" : dark.matches) ? "light" : "dark";
    kept.set(theme);
    paint();
  });
  dark.addEventListener("change", paint);
  button.hidden = false;
  paint();

  /* --- paper: what is folded away is printed as well ------------------------------------------ */
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of folded) part.open = false; });
})();
