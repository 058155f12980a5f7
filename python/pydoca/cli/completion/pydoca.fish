# $argv[1]: the kind of values. Prints each with its description.
function _pydoca_offer
  set -l words (commandline -opc)
  set -l word (string replace -r '^--[^=]*=' '' -- (commandline -ct))
  command $words[1] --complete-values $argv[1] "$word" 2>/dev/null </dev/null
end
