import type { CommandTree, CompletionValue, TreeOption } from './command-tree.ts';

/**
 * Returns the completion script for bash 3.2 and newer. The script needs no other package. It joins words that bash splits, such as
 * `@speed-to-lead`.
 */
export function bashCompletion({ options, commands }: CommandTree): string {
  const cases = commands.map(
    (command) =>
      `    ${command.name}) options="${tableOf(command.options)}"; arguments="${command.arguments.map(({ value, variadic }) => wordOf(value) + (variadic ? '*' : '')).join(' ')}" ;;`,
  );
  return SCRIPT.replace('@COMMANDS@', commands.map(({ name }) => name).join(' '))
    .replace('@OPTIONS@', tableOf(options))
    .replace('@CASES@', cases.join('\n'));
}

/** Returns the options with the kinds of their values: `--sink=:sink --json`. */
function tableOf(options: readonly TreeOption[]): string {
  return options
    .flatMap(({ words, value }) => words.map((word) => (value ? `${word}=${wordOf(value)}` : word)))
    .join(' ');
}

function wordOf(value: CompletionValue): string {
  if (value.kind === 'names') return value.names.join('|');
  return value.kind === 'configured' ? `:${value.what}` : `:${value.kind}`;
}

const SCRIPT = `# bash completion for leadsync, printed by \`leadsync completion bash\`
_leadsync_describe() {
  case $1 in
@CASES@
    *) options=""; arguments="" ;;
  esac
}

# Sets value to the kind of an option's value. Fails for an option that takes none.
_leadsync_value_of() {
  local entry
  for entry in $global $options; do
    [[ $entry == "$1="* ]] || continue
    value=\${entry#*=}
    return 0
  done
  return 1
}

_leadsync_offer() {
  case $1 in
    :text | "") ;;
    :file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")) ;;
    :*) COMPREPLY=($(compgen -W "$("$program" complete-names "\${1#:}" "\${config[@]}" 2>/dev/null)" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "\${1//|/ }" -- "$current")) ;;
  esac
}

_leadsync() {
  local global="@OPTIONS@" options="" arguments="" value="" command="" program=$1
  local line=\${COMP_LINE:0:COMP_POINT} words config=() position=0 at word current last
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  last=$((\${#words[@]} - 1))
  current=\${words[last]}
  COMPREPLY=()
  for ((at = 1; at < last; at++)); do
    word=\${words[at]}
    if [[ $word == -* ]]; then
      if _leadsync_value_of "$word"; then
        at=$((at + 1))
        ((at >= last)) && break
        [[ $word == -c || $word == --config ]] && config=(-c "\${words[at]}")
      fi
    elif [[ -z $command ]]; then
      command=$word
      _leadsync_describe "$command"
    else
      position=$((position + 1))
    fi
  done
  if ((at >= last && last > 1)) && [[ \${words[last - 1]} == -* ]] && _leadsync_value_of "\${words[last - 1]}"; then
    _leadsync_offer "$value"
  elif [[ $current == -* ]]; then
    local entry list=""
    for entry in $options $global; do list+=" \${entry%%=*}"; done
    COMPREPLY=($(compgen -W "$list" -- "$current"))
  elif [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "@COMMANDS@" -- "$current"))
  else
    local kinds
    read -ra kinds <<<"$arguments"
    ((position >= \${#kinds[@]} && \${#kinds[@]} > 0)) && [[ \${kinds[\${#kinds[@]} - 1]} == *\\* ]] && position=$((\${#kinds[@]} - 1))
    value=\${kinds[position]:-}
    _leadsync_offer "\${value%\\*}"
  fi
  # bash replaces only the text after the last character of COMP_WORDBREAKS, not the whole word.
  local before=\${current%"\${current##*[@=:]}"}
  [[ -n $before && $COMP_WORDBREAKS == *"\${before: -1}"* ]] && COMPREPLY=("\${COMPREPLY[@]#"$before"}")
  return 0
}
complete -F _leadsync leadsync
`;
