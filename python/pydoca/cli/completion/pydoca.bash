# $1: the kind of values, $2: the word. Prints the values that begin with the word.
_pydoca_offer() {
  local value
  while IFS=$'\t' read -r value _; do
    printf '%s\n' "$value"
  done < <(command "${_pydoca_program:-pydoca}" --complete-values "$1" "$2" 2>/dev/null </dev/null)
}

# Completes words as pydoca takes them. Bash also splits at colons and equals signs: 03:00.0, --level=quick.
_pydoca() {
  local _pydoca_program=$1 rest=$COMP_LINE part space i cword=0 last=-1
  local -a words=()
  for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
    part=${COMP_WORDS[i]}
    space=${rest%%[![:space:]]*}
    rest=${rest#"$space"}
    rest=${rest#"$part"}
    if [[ $last -lt 0 || -n $space || -z $part ]]; then
      words[++last]=$part
    elif [[ $part == "=" && ${words[last]} == --* ]]; then
      words[++last]=
    elif [[ $part == [:=@]* || ${words[last]} == *[:=@] || -z ${words[last]} ]]; then
      words[last]+=$part
    else
      words[++last]=$part
    fi
    if ((i == COMP_CWORD)); then cword=$last; fi
  done

  # Bash keeps what stands before the last part of the word.
  part=${COMP_WORDS[COMP_CWORD]}
  local word=${words[cword]} kept
  kept=${word%"$part"}
  [[ $part == [:=@] ]] && kept=$word

  local COMP_CWORD=$cword
  local -a COMP_WORDS=("${words[@]}")
  _shtab_pydoca
  for i in "${!COMPREPLY[@]}"; do
    COMPREPLY[i]=${COMPREPLY[i]:${#kept}}
  done
}
