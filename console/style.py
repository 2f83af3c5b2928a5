"""How the report page looks: one style sheet, light and dark, and good on paper."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5b6670; --paper: #fdfdfc;
  --line: #d9dee3; --panel: #f3f5f6; --accent: #0b5cad; --warn: #9a4b00; --good: #1d6b3a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --soft: #9aa5af; --paper: #14181b;
  --line: #333b42; --panel: #1d2327; --accent: #7db8f0; --warn: #f0a860; --good: #7fcf9b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main, header, footer { max-width: 46rem; margin: 0 auto; padding: 0 1.2rem; }
header { padding-top: 2.5rem; color: var(--soft); font-size: .9rem; }
nav a { margin-right: 1rem; }
h1, h2, h3 { line-height: 1.25; margin: 2em 0 .6em; }
h1 { font-size: 1.8rem; margin-top: .6em; }
h2 { font-size: 1.3rem; border-bottom: 1px solid var(--line); padding-bottom: .25em; }
h3 { font-size: 1.05rem; }
a { color: var(--accent); }
a.cite { text-decoration: none; font-size: .85em; padding: 0 .05em; }
p, li { overflow-wrap: anywhere; }
code { font-size: .88em; overflow-wrap: anywhere; }
blockquote { margin: .5em 0; padding: .1em .9em; border-left: 3px solid var(--line);
  color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .4em .6em; overflow-wrap: anywhere;
  border-bottom: 1px solid var(--line); }
.wide { overflow-x: auto; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .8rem; }
.side { background: var(--panel); border-radius: 6px; padding: .7rem .9rem; font-size: .93rem; }
.side p { margin: 0 0 .5em; }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0 .7em; margin: .4em 0;
  font-size: .88em; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.tag { font-size: .8em; padding: .05em .5em; border-radius: 1em; background: var(--panel);
  color: var(--soft); white-space: nowrap; }
.tag.answered, .tag.closed, .tag.supported { color: var(--good); }
.tag.failed, .tag.absent, .tag.open, .tag.contested, .tag.contradicted { color: var(--warn); }
ol.sources { list-style: none; padding: 0; }
ol.sources > li { padding: .6rem .8rem; border-radius: 6px; }
ol.sources > li:target { background: var(--panel); outline: 2px solid var(--accent); }
.meta { color: var(--soft); font-size: .85rem; }
summary { cursor: pointer; color: var(--soft); font-size: .88rem; }
footer { margin: 3rem auto 2rem; color: var(--soft); font-size: .85rem; }
@media print { nav { display: none; } body { font-size: 11pt; } }
"""
