/** The style sheet of a page: two themes, narrow screens and paper. */

export const STYLE = `
:root{color-scheme:light dark;--paper:#fff;--panel:#f5f6f8;--ink:#1b1f24;--soft:#59636e;--rule:#c9d0d8;--accent:#0a62c4;
--level-baseline:#59636e;--level-safe:#17702f;--level-care:#8a5200;--level-unsafe:#b3261e;--level-unmeasured:#59636e;--level-refused:#59636e;--level-invalid:#8e1a8e;
--heat-0:#d3e9dd;--heat-1:#a9d3bd;--heat-2:#6fb08e;--heat-3:#f0d67a;--heat-4:#e8903f;--heat-5:#b3261e;--heat-none:#8e1a8e}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--panel:#1d2228;--ink:#e8ebef;--soft:#a5afba;--rule:#414a55;--accent:#7ab7ff;
--level-baseline:#a5afba;--level-safe:#6fd08c;--level-care:#f0b35a;--level-unsafe:#ff8f86;--level-unmeasured:#a5afba;--level-refused:#a5afba;--level-invalid:#f08cf0;
--heat-0:#1f3a2c;--heat-1:#275840;--heat-2:#33805a;--heat-3:#c9a227;--heat-4:#e07b2e;--heat-5:#f2584c;--heat-none:#f08cf0}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
main{max-width:76rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0}h2{font-size:1.25rem;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1.05rem;margin:0 0 .25rem}h4{font-size:.95rem;margin:1rem 0 .25rem}
p{margin:.4rem 0;max-width:60rem}.soft{color:var(--soft)}.lead{font-size:1.1rem}
a{color:var(--accent)}code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.85rem}
.alarm{border:2px solid var(--level-invalid);border-radius:.5rem;padding:.75rem 1rem;font-weight:600}
.verdicts{list-style:none;margin:1rem 0;padding:0;display:grid;gap:.5rem}
.verdicts li{background:var(--panel);border-left:4px solid var(--level);border-radius:.25rem;padding:.5rem .75rem}
.badge{color:var(--level);font-weight:700}
.number{color:var(--soft);font-variant-numeric:tabular-nums}
${['baseline', 'safe', 'care', 'unsafe', 'unmeasured', 'refused', 'invalid'].map((level) => `.level-${level}{--level:var(--level-${level})}`).join('')}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem;margin:0 0 1rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}
.caption{color:var(--soft);font-size:.85rem;margin:1rem 0 .25rem}
th,td{padding:.3rem .45rem;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th:first-child,td:first-child{text-align:left}thead th{color:var(--soft);font-weight:600;vertical-align:bottom;white-space:normal;min-width:4rem}
tbody th{font-weight:600;white-space:normal;min-width:6.5rem;max-width:14rem}
thead th:empty{min-width:0}
button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
th button:hover,th button:focus-visible{text-decoration:underline}
.copy{border:1px solid var(--rule);border-radius:.3rem;padding:.1rem .6rem;font-size:.85rem;background:var(--paper)}
figure{margin:.75rem 0}figcaption{color:var(--soft);font-size:.9rem}
.plot{max-width:100%;height:auto;display:block;overflow:visible;font-size:13px;text-anchor:middle;fill:currentColor;font-variant-numeric:tabular-nums}
.plot{margin:.35rem 0}.narrow{display:none}.worst{list-style:none;margin:.25rem 0;padding:0;font-size:.9rem}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;margin:.5rem 0;padding:0;font-size:.85rem}
.legend i{display:inline-block;width:.9rem;height:.9rem;border-radius:.15rem;margin-right:.35rem;vertical-align:-.1rem;background:var(--swatch)}
.schemes{display:grid;gap:1rem;align-items:start;grid-template-columns:repeat(auto-fill,minmax(min(100%,34rem),1fr))}
.scheme{background:var(--panel);border-radius:.5rem;padding:1rem;min-width:0}
details{margin:.5rem 0}summary{cursor:pointer;color:var(--accent)}
pre{background:var(--paper);border:1px solid var(--rule);border-radius:.3rem;padding:.6rem;margin:.4rem 0;overflow-x:auto;max-height:20rem}
dl{display:grid;grid-template-columns:minmax(8rem,16rem) 1fr;gap:.25rem 1rem;font-size:.9rem}dt{color:var(--soft)}dd{margin:0}
@media screen and (max-width:47rem){.wide{display:none}.narrow{display:block}thead th{white-space:nowrap}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}h1{font-size:1.35rem}.scheme{padding:.75rem}
tbody th{max-width:9rem;overflow-wrap:break-word;position:sticky;left:0;background:var(--paper)}.scheme tbody th{background:var(--panel)}}
@media print{:root{color-scheme:light;--paper:#fff;--panel:#fff;--ink:#000;--soft:#444;--rule:#bbb;--accent:#0a4a94;
--level-baseline:#444;--level-safe:#17702f;--level-care:#8a5200;--level-unsafe:#b3261e;--level-unmeasured:#444;--level-refused:#444;--level-invalid:#8e1a8e;
--heat-0:#d3e9dd;--heat-1:#a9d3bd;--heat-2:#6fb08e;--heat-3:#f0d67a;--heat-4:#e8903f;--heat-5:#b3261e;--heat-none:#8e1a8e}
body{font-size:10pt;print-color-adjust:exact;-webkit-print-color-adjust:exact}main{padding:0;max-width:none}.copy{display:none}
.scroll,pre{overflow:visible;max-height:none}pre{white-space:pre-wrap}table{font-size:7.5pt}tbody th{overflow-wrap:anywhere}th,td{padding:.15rem .3rem;white-space:normal}thead th{min-width:0}
figure,.verdicts li,tr{break-inside:avoid}h2,h3{break-after:avoid}.scheme{border:1px solid var(--rule)}}
`;
