import type { Command } from 'commander';
import { version } from '../platform/process/version.ts';
import { commandTree, type TreeCommand, type TreeOption } from './completion/command-tree.ts';
import { buildInfo } from './shell/build-info.ts';
import { EXIT_CODE_MEANINGS } from './shell/exit-code.ts';

const FILES: readonly (readonly [string, string])[] = [
  [
    'leadsync.yaml',
    'The configuration in the current folder, unless `-c` or LEADSYNC_CONFIG names another file.',
  ],
  ['/etc/leadsync/leadsync.yaml', 'The configuration of the Debian package and of the container image.'],
];

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['LEADSYNC_CONFIG', 'The configuration file for commands without `-c`.'],
  [
    'LEADSYNC_COMMAND',
    'The command with which readers of messages, alerts and pages run leadsync, such as `docker exec leadsync leadsync`. Hints show commands in this form.',
  ],
  [
    'LEADSYNC_START',
    'The command that starts the daemon instead of `leadsync run`, such as `systemctl start leadsync`. Hints show this command.',
  ],
];

/** Returns the manual page leadsync(1) in man(7) format. The page has the date of the build, or of `now` in a checkout. */
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

/** Escapes text for roff, and makes text in backticks bold. */
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
