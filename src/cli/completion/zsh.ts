import type { CommandTree, CompletionValue, TreeCommand, TreeOption } from './command-tree.ts';

/** Returns the completion script for zsh. It works as a file `_leadsync` in a folder of `$fpath`, and as input to `source`. */
export function zshCompletion({ options, commands }: CommandTree): string {
  const described = commands.map(
    ({ name, about }) => `    ${quoted(`${name}:${about.replaceAll(':', '\\:')}`)}`,
  );
  return SCRIPT.replace('@COMMANDS@', () => described.join('\n'))
    .replace('@OPTIONS@', () => options.flatMap(optionSpecs).join(' '))
    .replace('@CASES@', () => commands.map(caseOf).join('\n'));
}

function caseOf({ name, options, arguments: args }: TreeCommand): string {
  const specs = [
    ...options.flatMap(optionSpecs),
    ...args.map(({ name: what, variadic, value }, at) =>
      quoted(`${variadic ? '*' : at + 1}:${what}:${actionOf(value)}`),
    ),
  ];
  return `        ${name}) _arguments $global ${specs.join(' ')} ;;`;
}

function optionSpecs({ words, about, value }: TreeOption): string[] {
  const said = about.replaceAll(/[\\[\]:]/g, '\\$&');
  const name = words.at(-1)?.replace(/^-+/, '');
  const behind = value ? `:${name}:${actionOf(value)}` : '';
  return words.map((word) => quoted(`*${word}[${said}]${behind}`));
}

function actionOf(value: CompletionValue): string {
  if (value.kind === 'file') return '_files';
  if (value.kind === 'names') return `(${value.names.join(' ')})`;
  return value.kind === 'configured' ? ` _leadsync_names ${value.what}` : '';
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const SCRIPT = `#compdef leadsync
# zsh completion for leadsync, printed by \`leadsync completion zsh\`

_leadsync_names() {
  local -a names config
  (( $+leadsync_config )) && config=(-c "$leadsync_config")
  names=(\${(f)"$(leadsync complete-names $1 $config 2>/dev/null)"})
  compadd -a names
}

_leadsync() {
  local curcontext="$curcontext" state
  local -a commands global
  typeset -A opt_args
  commands=(
@COMMANDS@
  )
  global=(@OPTIONS@)
  local at=\${words[(I)(-c|--config)]}
  (( at > 0 && at < CURRENT - 1 )) && local leadsync_config=\${words[at+1]}
  _arguments -C $global '1:command:->command' '*::argument:->argument' && return
  case $state in
    command) _describe -t commands command commands ;;
    argument)
      case $words[1] in
@CASES@
      esac ;;
  esac
}

if [[ $funcstack[1] == _leadsync ]]; then
  _leadsync "$@"
else
  compdef _leadsync leadsync
fi
`;
