// Keeps a page up to date: the server sends changed parts as HTML, and each replaces the old one.
// A part that has the focus, or was typed into, is replaced later.
"use strict";
(() => {
  const main = document.querySelector("main[data-events]");
  const lost = document.querySelector(".lost");
  const changed = document.querySelector(".changed");
  const delayed = new Map();
  let source = null;

  function element(name) { return document.getElementById("part-" + name); }

  function isInUse(part) {
    return part.dataset.typed === "yes" || part.contains(document.activeElement);
  }

  function replace(name, html, v) {
    const part = element(name);
    if (!part || part.dataset.v === v) return;
    if (isInUse(part)) {
      delayed.set(name, [html, v]);
      if (part.dataset.typed === "yes" && changed) changed.hidden = false;
      return;
    }
    delayed.delete(name);
    const open = [...part.querySelectorAll("details[open][id]")].map((one) => one.id);
    part.innerHTML = html;
    part.dataset.v = v;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    const announcement = document.getElementById("announcement"), headline = document.getElementById("headline");
    // Screen readers announce only a new headline.
    if (announcement && headline && announcement.textContent !== headline.textContent) announcement.textContent = headline.textContent;
  }

  function listen() {
    if (!main || source || document.hidden) return;
    source = new EventSource(main.dataset.events);
    source.onopen = () => { if (lost) lost.hidden = true; };
    source.onerror = () => {
      if (lost) lost.hidden = false;
      // After an error response the browser does not reconnect by itself.
      if (source?.readyState === EventSource.CLOSED) { source = null; setTimeout(listen, 5000); }
    };
    source.onmessage = (message) => {
      for (const [name, part] of Object.entries(JSON.parse(message.data).parts)) replace(name, part.html, part.v);
    };
    source.addEventListener("end", stop);
  }

  function stop(ended) {
    source?.close();
    source = null;
    if (ended) delete main.dataset.events;
  }

  // A browser opens only six streams per server, so a hidden tab closes its own.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop(false);
    else if (main?.dataset.events) listen();
  });
  document.addEventListener("input", (event) => {
    const part = event.target.closest("[data-part]");
    if (part) part.dataset.typed = "yes";
  });
  document.addEventListener("focusout", () => setTimeout(() => {
    for (const [name, [html, v]] of delayed) replace(name, html, v);
  }, 0));

  function clock(seconds) {
    const two = (n) => String(n).padStart(2, "0");
    const whole = Math.max(0, Math.floor(seconds));
    const hours = Math.floor(whole / 3600), minutes = Math.floor((whole % 3600) / 60);
    const start = hours ? `${hours}:${two(minutes)}` : minutes;
    return `${start}:${two(whole % 60)}`;
  }
  setInterval(() => {
    if (document.hidden) return;
    for (const one of document.querySelectorAll("[data-since]")) {
      one.textContent = clock(Date.now() / 1000 - Number(one.dataset.since));
    }
  }, 1000);
  listen();
})();
