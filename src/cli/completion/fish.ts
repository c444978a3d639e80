import type { CommandTree, CompletionValue, TreeArgument, TreeOption } from './command-tree.ts';

/** Returns the completion script for fish 3 and newer. */
export function fishCompletion({ options, commands }: CommandTree): string {
  const names = commands.map(({ name }) => name).join(' ');
  const lines = commands.flatMap(({ name, about, options: own, arguments: args }) => [
    `complete -c leadsync -n __leadsync_needs_command -a ${name} -d ${quoted(about)}`,
    ...own.map((option) => optionLine(option, `__leadsync_command_is ${name}`)),
    ...args.map((argument, at) => argumentLine(name, argument, at)),
  ]);
  const globals = options.map((option) => optionLine(option, undefined));
  return [HEAD.replace('@COMMANDS@', names), ...globals, ...lines, ''].join('\n');
}

function optionLine({ words, about, value }: TreeOption, condition: string | undefined): string {
  const flags = words.map((word) => (word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`));
  const when = condition === undefined ? '' : ` -n '${condition}'`;
  const offered = value ? ` -r ${offer(value)}` : '';
  return `complete -c leadsync${when} ${flags.join(' ')}${offered} -d ${quoted(about)}`;
}

function argumentLine(command: string, { variadic, value }: TreeArgument, at: number): string {
  const test = variadic
    ? `__leadsync_argument_is ${command} ${at} more`
    : `__leadsync_argument_is ${command} ${at}`;
  return `complete -c leadsync -n '${test}' ${offer(value)}`;
}

function offer(value: CompletionValue): string {
  if (value.kind === 'file') return '-F';
  if (value.kind === 'text') return '-f';
  if (value.kind === 'names') return `-f -a ${quoted(value.names.join(' '))}`;
  return `-f -a '(__leadsync_names ${value.what})'`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

const HEAD = `# fish completion for leadsync, printed by \`leadsync completion fish\`
function __leadsync_words
    # The command and its arguments, without options. Only -c and --config are allowed before a command.
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word -c --config
            set skip 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

function __leadsync_needs_command
    test (count (__leadsync_words)) = 0
end

function __leadsync_command_is
    set -l words (__leadsync_words)
    test (count $words) -gt 0; and test "$words[1]" = $argv[1]
end

function __leadsync_argument_is
    set -l words (__leadsync_words)
    __leadsync_command_is $argv[1]; or return 1
    set -l given (math (count $words) - 1)
    test $given -eq $argv[2]; or begin
        test (count $argv) -gt 2; and test $given -gt $argv[2]
    end
end

function __leadsync_names
    set -l words (commandline -opc)
    set -l config
    for at in (seq (count $words))
        if contains -- $words[$at] -c --config; and test $at -lt (count $words)
            set config -c $words[(math $at + 1)]
        end
    end
    leadsync complete-names $argv[1] $config 2>/dev/null
end

complete -c leadsync -f`;
