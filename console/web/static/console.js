// Keeps a page up to date: the server sends parts as HTML, each replaces its place where it changed.
// Nothing is taken from under a hand: what has the focus, or was typed into, waits.
"use strict";
(() => {
  const main = document.querySelector("main[data-events]");
  const lost = document.querySelector(".lost");
  const changed = document.querySelector(".changed");
  const late = new Map();
  let source = null;

  function place(name) { return document.getElementById("part-" + name); }

  function inHand(part) {
    return part.dataset.typed === "yes" || part.contains(document.activeElement);
  }

  function put(name, html, v) {
    const part = place(name);
    if (!part || part.dataset.v === v) return;
    if (inHand(part)) {
      late.set(name, [html, v]);
      if (part.dataset.typed === "yes" && changed) changed.hidden = false;
      return;
    }
    late.delete(name);
    const open = [...part.querySelectorAll("details[open][id]")].map((one) => one.id);
    part.innerHTML = html;
    part.dataset.v = v;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    const heard = document.getElementById("heard"), said = document.getElementById("headline");
    // Only the sentence is read out, and only a new one.
    if (heard && said && heard.textContent !== said.textContent) heard.textContent = said.textContent;
  }

  function listen() {
    if (!main || source || document.hidden) return;
    source = new EventSource(main.dataset.events);
    source.onopen = () => { if (lost) lost.hidden = true; };
    source.onerror = () => {
      if (lost) lost.hidden = false;
      // Refused rather than interrupted: the browser does not come back by itself then.
      if (source?.readyState === EventSource.CLOSED) { source = null; setTimeout(listen, 5000); }
    };
    source.onmessage = (message) => {
      for (const [name, part] of Object.entries(JSON.parse(message.data).parts)) put(name, part.html, part.v);
    };
    source.addEventListener("end", stop);
  }

  function stop(ended) {
    source?.close();
    source = null;
    if (ended) delete main.dataset.events;
  }

  // A hidden tab needs no news; a browser keeps only six streams to one server.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop(false);
    else if (main?.dataset.events) listen();
  });
  document.addEventListener("input", (event) => {
    const part = event.target.closest("[data-part]");
    if (part) part.dataset.typed = "yes";
  });
  document.addEventListener("focusout", () => setTimeout(() => {
    for (const [name, [html, v]] of late) put(name, html, v);
  }, 0));

  function clock(seconds) {
    const two = (n) => String(n).padStart(2, "0");
    const whole = Math.max(0, Math.floor(seconds));
    const hours = Math.floor(whole / 3600), minutes = Math.floor((whole % 3600) / 60);
    if (hours) return `${hours} h ${two(minutes)} min`;
    return minutes ? `${minutes}:${two(whole % 60)}` : `${whole} s`;
  }
  setInterval(() => {
    if (document.hidden) return;
    for (const one of document.querySelectorAll("[data-since]")) {
      one.textContent = clock(Date.now() / 1000 - Number(one.dataset.since));
    }
  }, 1000);
  listen();
})();
