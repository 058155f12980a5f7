"""The styles of the page. & stands for its root; colours are those of all displays."""

from __future__ import annotations

from pydoca._display.frame.style import page_sheet

ROOT = "pydoca-report"

_PAGE = """
&{--pq-tint:color-mix(in srgb,var(--pd-fg) 4%,var(--pd-paper));color:var(--pd-fg);background:var(--pd-paper);margin:0;
font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
& *{box-sizing:border-box}
& .pq-good{--tone:var(--pd-good)}& .pq-busy{--tone:var(--pd-busy)}& .pq-bad{--tone:var(--pd-bad)}
& .pq-quiet{--tone:var(--pd-soft)}
& main,& .pq-inner{max-width:1240px;margin:0 auto;padding:0 28px}
& code,& pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.92em}
& a{color:inherit;text-decoration:none;border-bottom:1px dotted var(--pd-soft)}
& a:hover{color:var(--pd-accent);border-bottom-style:solid}
& a:focus-visible{outline:2px solid var(--pd-accent);outline-offset:2px}
& h1{font-size:25px;line-height:1.25;font-weight:650;margin:0;letter-spacing:-.01em}
& .pq-label a{text-transform:none;font-weight:400;letter-spacing:0;margin-left:8px}
& h2{font-size:17px;font-weight:650;margin:44px 0 12px;padding:0 0 6px;border-bottom:1px solid var(--pd-rule)}
& h2 small{font-weight:400;font-size:13px;color:var(--pd-soft);margin-left:8px}
& h3{font-size:15px;font-weight:600;margin:0}
& .pq-soft{color:var(--pd-soft)}
& dt,& th,& .pq-label{font-size:11px;font-weight:600;letter-spacing:.05em;text-transform:uppercase;color:var(--pd-soft)}
& .pq-badge{display:inline-block;white-space:nowrap;font-size:11.5px;font-weight:650;letter-spacing:.04em;
color:var(--tone);border:1px solid color-mix(in srgb,var(--tone) 45%,transparent);border-radius:99px;
padding:1px 9px 1px 7px;background:color-mix(in srgb,var(--tone) 9%,transparent)}
& .pq-mark{display:inline-block;width:1.15em;text-align:center;color:var(--tone)}
& footer{margin:52px 0 0;border-top:1px solid var(--pd-rule);padding:14px 0 36px;color:var(--pd-soft);font-size:12.5px}
"""

_BAND = """
& .pq-band{background:var(--pq-tint);border-bottom:1px solid var(--pd-rule);border-top:5px solid var(--tone);
padding:26px 0 20px}
& .pq-top{display:flex;gap:14px 26px;align-items:center;flex-wrap:wrap}
& .pq-verdict{font-size:25px;font-weight:700;letter-spacing:.03em;color:var(--pd-paper);background:var(--tone);
border-radius:8px;padding:9px 22px 9px 17px;white-space:nowrap;line-height:1.2}
& .pq-verdict .pq-mark{color:inherit;margin-right:.25em}
& .pq-who{flex:1 1 320px;min-width:0}
& .pq-who p{margin:3px 0 0;color:var(--pd-soft)}
& .pq-kind{margin:0;font-size:12.5px;color:var(--pd-soft)}
& .pq-facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(186px,1fr));gap:10px 18px;margin:20px 0 0}
& .pq-facts dd{margin:0}& .pq-facts div{min-width:0}
& .pq-bar{display:flex;gap:2px;height:12px;margin:22px 0 7px;border-radius:6px;overflow:hidden}
& .pq-bar i{background:var(--tone);min-width:5px}
& .pq-bar .pq-error{background:repeating-linear-gradient(45deg,var(--tone) 0 4px,
color-mix(in srgb,var(--tone) 45%,var(--pd-paper)) 4px 8px)}
& .pq-bar .pq-skipped{opacity:.4}
& .pq-counts{display:flex;flex-wrap:wrap;gap:2px 22px;margin:0;padding:0;list-style:none;font-size:13px}
& .pq-counts b{font-weight:650}
& nav{display:flex;flex-wrap:wrap;gap:4px 20px;padding:10px 0;font-size:13px}
& .pq-nav{border-bottom:1px solid var(--pd-rule)}
"""

_CASES = """
& .pq-scroll{overflow-x:auto}
& .pq-scroll:focus-visible{outline:2px solid var(--pd-accent);outline-offset:2px}
& table{border-collapse:collapse;width:100%;font-size:13.5px}
& th,& td{text-align:left;vertical-align:middle;padding:4px 14px 4px 0}
& th{border-bottom:1px solid var(--pd-rule);white-space:nowrap}
& .pq-n{text-align:right;white-space:nowrap}
& .pq-name{min-width:170px}
& .pq-cases tbody{border-bottom:1px solid var(--pd-rule)}
& .pq-cases .pq-case td{padding-top:9px;padding-bottom:7px}
& .pq-cases .pq-case td:first-child{width:118px}
& .pq-cases .pq-value td{padding-top:2px;padding-bottom:2px;color:var(--pd-fg)}
& .pq-cases .pq-value:last-child td{padding-bottom:9px}
& .pq-cases .pq-value td:first-child{text-align:right;padding-right:8px}
& .pq-rows td{border-bottom:1px solid color-mix(in srgb,var(--pd-rule) 60%,transparent)}
& .pq-rows td:first-child:not(.pq-name){width:136px}
& .pq-id{font-weight:650}
& .pq-title{margin-left:10px}
& .pq-took{float:right;margin-left:16px;color:var(--pd-soft)}
& .pq-why{display:block;color:var(--pd-soft);font-size:12.5px}
& .pq-spark{width:134px}& .pq-spark svg{display:block}
& .pq-properties{columns:3 250px;column-gap:28px;list-style:none;margin:0;padding:0;font-size:12.5px}
& .pq-properties li{padding-left:1.3em;text-indent:-1.3em}
& .pq-properties b{white-space:nowrap;font-weight:600}
& .pq-findings{list-style:none;margin:0;padding:0}
& .pq-findings li{display:grid;grid-template-columns:118px minmax(0,1fr);gap:2px 0;align-items:baseline;padding:7px 0;
border-bottom:1px solid color-mix(in srgb,var(--pd-rule) 60%,transparent)}
& .pq-findings li:last-child{border:0}
@media (max-width:900px){& main,& .pq-inner{padding:0 20px}
& .pq-line{position:sticky;left:0;max-width:calc(100vw - 172px)}}
"""

_CARDS = """
& .pq-card{border:1px solid var(--pd-rule);border-radius:8px;margin:0 0 16px;padding:14px 18px 12px;
border-left:4px solid var(--tone);break-inside:avoid}
& .pq-card:target{outline:2px solid var(--pd-accent)}
& .pq-head{display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
& .pq-head .pq-figure{margin-left:auto;font-size:19px;font-weight:650;white-space:nowrap}
& .pq-head .pq-figure small{font-size:12.5px;font-weight:400;color:var(--pd-soft)}
& .pq-reason{margin:3px 0 6px;color:var(--pd-soft);font-size:13px}
& .pq-plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,330px),1fr));gap:8px 18px;
align-items:start}
& .pq-plots svg{display:block;margin:0 auto}
& .pq-plots svg text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
& .pq-numbers{display:grid;grid-template-columns:repeat(auto-fill,minmax(82px,1fr));gap:7px 12px;margin:0;
padding:8px 0 4px;font-size:13px;align-content:start}
@media (max-width:1199px){& .pq-numbers{grid-column:1/-1}}
@media (max-width:900px){& .pq-head .pq-figure{white-space:normal}}
& .pq-foot{display:flex;flex-wrap:wrap;gap:0 24px;margin:6px 0 0;padding:6px 0 0;font-size:12.5px;color:var(--pd-soft);
border-top:1px solid color-mix(in srgb,var(--pd-rule) 60%,transparent)}
& .pq-numbers .pq-two{grid-column:span 2}
& .pq-numbers div{min-width:0}& .pq-numbers dd{margin:0}& .pq-numbers dt{font-size:10.5px}
& pre{background:var(--pq-tint);border:1px solid var(--pd-rule);border-radius:6px;padding:9px 12px;margin:4px 0 10px;
overflow:auto;white-space:pre-wrap;font-size:12.5px;line-height:1.45}
& .pq-again{user-select:all}
& .pq-blocks{columns:2 380px;column-gap:44px}
& .pq-block{break-inside:avoid;margin:0 0 20px}
& .pq-block table{font-size:13px}
& .pq-block caption{text-align:left;font-weight:650;padding:0 0 3px;border-bottom:1px solid var(--pd-rule)}
& .pq-block td{padding:2px 0;vertical-align:baseline}
& .pq-block td:first-child{width:36%;padding-right:14px;color:var(--pd-soft)}
& .pq-block .pq-absent{color:var(--pd-soft);font-style:italic}
@media print{& .pq-nav{display:none}& .pq-verdict{print-color-adjust:exact}
& .pq-bar i{print-color-adjust:exact}}
"""


def style_sheet() -> str:
    return page_sheet(_PAGE + _BAND + _CASES + _CARDS, f".{ROOT}")
