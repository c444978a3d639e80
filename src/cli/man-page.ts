import type { Command } from 'commander';
import { version } from '../platform/process/version.ts';
import { commandTree, type TreeCommand, type TreeOption } from './completion/command-tree.ts';
import { buildInfo } from './shell/build-info.ts';
import { EXIT_CODE_MEANINGS } from './shell/exit-code.ts';

const FILES: readonly (readonly [string, string])[] = [
  [
    'leadsync.yaml',
    'The configuration, in the current folder unless `-c` or LEADSYNC_CONFIG names another one.',
  ],
  ['/etc/leadsync/leadsync.yaml', 'The configuration of the Debian package and of the container image.'],
];

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['LEADSYNC_CONFIG', 'The configuration of a command without `-c`.'],
  [
    'LEADSYNC_COMMAND',
    'How people who read the hints of this process start leadsync, such as `docker exec leadsync leadsync`. Messages, alerts and pages show the commands to type in this form.',
  ],
  [
    'LEADSYNC_START',
    'What starts the daemon here in place of `leadsync run`, such as `systemctl start leadsync`. Hints show it.',
  ],
];

/** Returns the manual page leadsync(1) in the man(7) language. Its date is that of the build; `now` in a checkout. */
export function manPage(root: Command, now: Date): string {
  const { about, options, commands } = commandTree(root);
  const date = (buildInfo().built ?? now.toISOString()).slice(0, 10);
  const groups = Map.groupBy(commands, ({ group }) => group);
  const lines = [
    `.TH LEADSYNC 1 "${date}" "leadsync ${version}" "User Commands"`,
    '.SH NAME',
    `leadsync \\- ${text(withoutFullStop(about))}`,
    '.SH SYNOPSIS',
    '.B leadsync',
    '.RI [ options ]',
    '.I command',
    '.RI [ arguments ]',
    '.SH OPTIONS',
    ...options.flatMap(optionLines),
    '.SH COMMANDS',
    ...[...groups].flatMap(([group, own]) => [
      `.SS ${text(withoutColon(group))}`,
      ...own.flatMap(({ name, about: what }) => ['.TP', `.B ${text(name)}`, text(what)]),
    ]),
    ...commands.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...[...EXIT_CODE_MEANINGS].flatMap(([code, meaning]) => ['.TP', `.B ${code}`, text(meaning)]),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([name, what]) => ['.TP', `.B ${name}`, text(what)]),
    '.SH FILES',
    ...FILES.flatMap(([name, what]) => ['.TP', `.I ${text(name)}`, text(what)]),
  ];
  return `${lines.join('\n')}\n`;
}

function commandLines({ name, usage, about, options, examples, notes }: TreeCommand): string[] {
  return [
    `.SH LEADSYNC ${text(name.toUpperCase())}`,
    text(`${capitalised(about)}.`),
    '.PP',
    `.B leadsync ${text(name)}`,
    text(usage),
    ...options.flatMap(optionLines),
    ...(notes === undefined ? [] : notes.split('\n').flatMap((line) => ['.PP', text(line)])),
    ...(examples.length === 0 ? [] : ['.PP', 'Examples:']),
    ...examples.flatMap((example) => ['.PP', '.RS 4', '.nf', text(example), '.fi', '.RE']),
  ];
}

function optionLines({ flags, about }: TreeOption): string[] {
  return ['.TP', `.B ${text(flags)}`, text(about)];
}

/** Text in roff: nothing in it is taken for a request or an escape, and what stands in backticks is bold. */
function text(plain: string): string {
  const escaped = plain
    .trim()
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...') // a terminal without UTF-8 has no such character
    .replaceAll("'", '\\(aq')
    .replaceAll('"', '\\(dq')
    .replace(/^(?=[.])/, '\\&');
  return escaped.replaceAll(/`([^`]*)`/g, '\\fB$1\\fR');
}

function withoutColon(title: string): string {
  return title.replace(/:$/, '');
}

function withoutFullStop(sentence: string): string {
  return sentence.replace(/\.$/, '');
}

function capitalised(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
