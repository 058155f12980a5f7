"""The styles of all displays: one sheet, which every output brings along, as outputs are copied and exported alone."""

from __future__ import annotations

ROOT = "pydoca-display"

# JupyterLab and VS Code say what their theme is; elsewhere the reader's system does. A display paints its own
# background: the colours of text and paper then belong together, also in pages that are always white.
_COLOURS = """
&{--pd-fg:var(--jp-content-font-color1,var(--vscode-editor-foreground,#1f2430));
--pd-soft:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#5a6372));
--pd-rule:var(--jp-border-color2,var(--vscode-panel-border,#d8dde4));
--pd-paper:var(--jp-layout-color0,var(--vscode-editor-background,#ffffff));
--pd-accent:var(--jp-brand-color1,#1b66c9);--pd-good:var(--jp-success-color1,#2e7d32);
--pd-busy:var(--jp-warn-color1,#c77700);--pd-bad:var(--jp-error-color1,#c62828)}
@media (prefers-color-scheme:dark){
&{--pd-fg:var(--jp-content-font-color1,var(--vscode-editor-foreground,#e4e8ee));
--pd-soft:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#9aa4b2));
--pd-rule:var(--jp-border-color2,var(--vscode-panel-border,#3a414c));
--pd-paper:var(--jp-layout-color0,var(--vscode-editor-background,#14171c));
--pd-accent:var(--jp-brand-color1,#6aa9ff);--pd-good:var(--jp-success-color1,#66bb6a);
--pd-busy:var(--jp-warn-color1,#ffb74d);--pd-bad:var(--jp-error-color1,#ef6c6c)}}
"""

_SHAPES = """
& .pd-text{fill:var(--pd-fg)}& .pd-faint{fill:var(--pd-soft)}
& .pd-line{stroke:var(--pd-soft);fill:none}& .pd-thin{stroke:var(--pd-rule);fill:none}
& .pd-tip{fill:var(--pd-soft);stroke:none}
& .pd-box{fill:var(--pd-paper);stroke:var(--pd-soft)}& .pd-area{fill:var(--pd-soft);stroke:var(--pd-rule)}
& .pd-fill-accent{fill:var(--pd-accent)}& .pd-fill-good{fill:var(--pd-good)}& .pd-fill-busy{fill:var(--pd-busy)}
& .pd-fill-bad{fill:var(--pd-bad)}& .pd-fill-quiet{fill:var(--pd-soft)}
& .pd-edge-accent{stroke:var(--pd-accent)}& .pd-edge-good{stroke:var(--pd-good)}
& .pd-edge-busy{stroke:var(--pd-busy)}& .pd-edge-bad{stroke:var(--pd-bad)}& .pd-edge-quiet{stroke:var(--pd-soft)}
& .pd-edge-text{stroke:var(--pd-fg)}
"""

_FRAME = """
&{color:var(--pd-fg);background:var(--pd-paper);border:1px solid var(--pd-rule);border-radius:4px;
padding:10px 14px 12px;margin:2px 0;max-width:980px;box-sizing:border-box;overflow-wrap:anywhere;
font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
& *{box-sizing:border-box}
& code,& .pd-code{font-family:var(--jp-code-font-family,ui-monospace,SFMono-Regular,Menlo,Consolas,monospace);
font-size:12px;color:inherit;background:none;border:0;padding:0;white-space:inherit}
& .pd-head{display:flex;flex-wrap:wrap;align-items:baseline;gap:0 12px;margin:0 0 8px;padding:0 0 6px;
border-bottom:1px solid var(--pd-rule)}
& .pd-kind,& dt,& th,& .pd-title{font-size:11px;font-weight:600;letter-spacing:.05em;text-transform:uppercase;
color:var(--pd-soft)}
& .pd-kind{text-transform:none;letter-spacing:0;font-size:14px;color:var(--pd-fg)}
& .pd-name{font-size:13px}
& .pd-state{margin-left:auto;white-space:nowrap}
& .pd-mark{display:inline-block;width:1em;margin-right:.35em;text-align:center}
& .pd-good{color:var(--pd-good)}& .pd-busy{color:var(--pd-busy)}& .pd-bad{color:var(--pd-bad)}
& .pd-quiet{color:var(--pd-soft)}
& dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:5px 16px;margin:0;padding:0}
& dl>div{min-width:0}
& dt{margin:0;padding:0;float:none;line-height:1.4;width:auto}
& dd{margin:0;padding:0;float:none;width:auto}
& .pd-title{margin:12px 0 3px}
& .pd-scroll{overflow-x:auto;
background:linear-gradient(90deg,var(--pd-paper) 30%,transparent) 0 0/24px 100% no-repeat local,
linear-gradient(270deg,var(--pd-paper) 30%,transparent) 100% 0/24px 100% no-repeat local,
linear-gradient(90deg,var(--pd-rule),transparent) 0 0/10px 100% no-repeat scroll,
linear-gradient(270deg,var(--pd-rule),transparent) 100% 0/10px 100% no-repeat scroll}
"""

_TABLES = """
& table{border-collapse:collapse;border:0;margin:0;width:auto;min-width:45%;
table-layout:auto;font-size:13px;color:inherit;
background:none}
& thead{border:0;background:none}
& th,& td{text-align:left;vertical-align:baseline;padding:3px clamp(10px,1.6vw,22px) 3px 0;border:0;max-width:none;
background:none;color:inherit;white-space:nowrap}
& th{color:var(--pd-soft);border-bottom:1px solid var(--pd-rule);padding-bottom:2px}
& td.pd-wrap{white-space:normal;min-width:10em}
& th.pd-n,& td.pd-n{text-align:right}
& th:last-child,& td:last-child{padding-right:0}
& tbody tr:nth-child(n),& tbody tr:hover{background:none}
& tbody tr+tr td{border-top:1px solid color-mix(in srgb,var(--pd-rule) 50%,transparent)}
& .pd-names{columns:3 306px;column-gap:12px;list-style:none;margin:2px 0 0;padding:0}
& .pd-names li{white-space:nowrap;margin:0;padding:1px 0;list-style:none;break-inside:avoid}
& .pd-more{color:var(--pd-soft);margin:4px 0 0}
& .pd-blocks{columns:3 210px;column-gap:28px}
& .pd-block{break-inside:avoid;margin:0 0 10px}
& .pd-block table{width:100%}
& .pd-block td{padding:1px 0;white-space:normal}
& .pd-block td+td{text-align:right;white-space:nowrap;padding-left:12px}
& .pd-block tbody tr+tr td{border-top:0}
& .pd-block caption{caption-side:top;text-align:left;padding:0 0 1px;margin:0 0 1px;color:var(--pd-fg);
border-bottom:1px solid var(--pd-rule);font-weight:600;font-size:12px}
& .pd-note{display:flex;gap:12px;margin:8px 0 0;padding:5px 0 5px 10px;border-left:3px solid var(--pd-rule)}
& .pd-note.pd-bad{border-left-color:var(--pd-bad)}& .pd-note.pd-busy{border-left-color:var(--pd-busy)}
& .pd-note.pd-good{border-left-color:var(--pd-good)}
& .pd-note .pd-title{margin:0;flex:0 0 8.5em;line-height:1.75;white-space:nowrap}
& .pd-note .pd-said{color:var(--pd-fg);min-width:0}
& svg{display:block;margin:6px 0 0}
"""

_SVG_PAPER = "&{background:var(--pd-paper)}"


def _sheet(rules: str, selector: str) -> str:
    return "".join(line.strip() for line in rules.replace("&", selector).splitlines())


def html_sheet() -> str:
    """The sheet of displays in HTML. Each selector has the class four times, to outweigh the styles of notebooks."""
    return _sheet(_COLOURS + _SHAPES + _FRAME + _TABLES, f".{ROOT}" * 4)


def svg_sheet() -> str:
    """The sheet of a picture without a page."""
    return _sheet(_COLOURS + _SHAPES + _SVG_PAPER, f".{ROOT}")


def page_sheet(selector: str) -> str:
    """The colours and shapes of all displays, for a page that has its other rules itself."""
    return _sheet(_COLOURS + _SHAPES, selector)
