import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { innerRooms } from './inner-rooms.ts';
import {
  type Files,
  findCircle,
  handsOn,
  importsOf,
  readFiles,
  withoutComments,
} from './support/import-scan.ts';

/**
 * The plan of the house. A room is a folder of `src/`; joints between rooms are short functions in `daemon/`.
 * `imports`: the rooms it may import, types included. `doors`: the files of it that others may import; all when absent.
 * `because`: what it must not know, for the message to the author of a forbidden import.
 */
interface Room {
  readonly imports: readonly string[];
  readonly doors?: readonly string[];
  readonly because: string;
}

const rooms: Readonly<Record<string, Room>> = {
  leads: {
    imports: [],
    because:
      'leads/ holds the nouns that every room shares; a noun that imports drags its room into all the others.',
  },
  platform: {
    imports: [],
    because: 'platform/ is time, files, signals and secrets; it must not know what a lead is.',
  },
  telemetry: {
    imports: ['leads', 'platform'],
    doors: [
      'events.ts',
      'events/source-events.ts',
      'logger.ts',
      'telemetry.ts',
      'open-tracing.ts',
      'tracing.ts',
    ],
    because: 'telemetry/ turns events into logs and metrics; it must not know who emits them.',
  },
  identity: {
    imports: ['platform'],
    doors: ['contract.ts', 'openid-provider.ts', 'options.ts'],
    because:
      'identity/ asks an OpenID provider who a person is; it must not know sessions, pages or what a person may do.',
  },
  admin: {
    imports: ['identity', 'leads', 'platform'],
    doors: [
      'server.ts',
      'address-error.ts',
      'contract/operations.ts',
      'contract/audit.ts',
      'contract/configuration.ts',
      'contract/deliveries.ts',
      'contract/leads.ts',
      'contract/log.ts',
      'contract/login-provider.ts',
      'contract/overview.ts',
      'contract/polls.ts',
      'contract/previews.ts',
      'contract/rejected.ts',
      'contract/sinks.ts',
      'contract/request-error.ts',
      'contract/actor.ts',
      'contract/rights.ts',
    ],
    because:
      'admin/ serves HTTP and receives its operations as functions; it must not know the rooms that implement them. Of leads/ and identity/ it knows what every client has to know.',
  },
  source: {
    imports: ['leads', 'platform', 'telemetry'],
    because: 'source/ reads the listing service; it must not know that leads are remembered or delivered.',
  },
  catalog: {
    imports: [],
    doors: ['catalog.ts', 'extraction.ts', 'mirrored-tables.ts', 'query.ts', 'relation.ts'],
    because: 'catalog/ describes what people query; it must not know where that is kept.',
  },
  ledger: {
    imports: ['catalog', 'leads', 'platform'],
    doors: [
      'contract/copy-errors.ts',
      'contract/ledger.ts',
      'contract/ledger-copy.ts',
      'contract/ledger-control.ts',
      'contract/ledger-delivering.ts',
      'contract/ledger-pages.ts',
      'contract/ledger-persons.ts',
      'contract/ledger-polling.ts',
      'contract/ledger-queries.ts',
      'contract/ledger-tables.ts',
      'contract/ledger-upkeep.ts',
      'contract/mirrored-ledger.ts',
      'contract/claim.ts',
      'contract/declaration.ts',
      'contract/feed-entries.ts',
      'contract/ledger-error.ts',
      'contract/machines.ts',
      'contract/page-rows.ts',
      'contract/sink-activity.ts',
      'contract/status-rows.ts',
      'copying/sqlite-copy-source.ts',
      'copying/sqlite-copy-target.ts',
      'database/backup.ts',
      'database/backup-contents.ts',
      'database/high-water-mark.ts',
      'database/inspect-file.ts',
      'database/leftover-files.ts',
      'database/listing-size-days.ts',
      'delivering/begun-attempts.ts',
      'extraction/copied-rows.ts',
      'extraction/extracting.ts',
      'extraction/public-copy.ts',
      'extraction/run-sql.ts',
      'queries/start-query-thread.ts',
      'recording/begin-blocks.ts',
      'recording/id-set.ts',
      'recording/open-poll.ts',
      'recording/poll-blocks.ts',
      'recovery/build-recovered.ts',
      'recovery/replace-ledger.ts',
      'recovery/start-build-process.ts',
      'rules/control/action-groups.ts',
      'rules/copying/copied-tables.ts',
      'rules/copying/progress.ts',
      'rules/delivering/attempt-sums.ts',
      'rules/delivering/attempted-deliveries.ts',
      'rules/delivering/batching.ts',
      'rules/control/cancelling.ts',
      'rules/queries/change-feed.ts',
      'rules/recording/changed-fields.ts',
      'rules/privacy/client-keys.ts',
      'rules/delivering/delivery-id.ts',
      'rules/queries/delivery-rows.ts',
      'rules/delivering/divide-into-batches.ts',
      'rules/privacy/erasure-progress.ts',
      'rules/extraction/answers-by-slug.ts',
      'rules/extraction/clock-steps.ts',
      'rules/extraction/row-parts.ts',
      'rules/queries/failure-reasons.ts',
      'rules/queries/find-leads.ts',
      'rules/queries/keyset-page.ts',
      'rules/recording/listed-content.ts',
      'rules/recording/rejection-reasons.ts',
      'rules/delivering/loaded-delivery.ts',
      'rules/queries/newest-contents.ts',
      'rules/control/operator-actions.ts',
      'rules/queries/period.ts',
      'rules/privacy/person-rows.ts',
      'rules/queries/polled-hours.ts',
      'rules/control/replay-selection.ts',
      'rules/queries/result-parameters.ts',
      'rules/delivering/results.ts',
      'rules/control/selecting.ts',
      'rules/queries/sink-activity.ts',
      'rules/delivering/sink-row.ts',
      'rules/queries/speed.ts',
      'rules/delivering/superseding.ts',
      'rules/queries/trace-entries.ts',
      'rules/queries/upcoming.ts',
      'rules/queries/webhook-batch.ts',
      'rules/machines/choose-duties.ts',
      'rules/machines/lease-times.ts',
      'rules/machines/observed-duties.ts',
      'sqlite-ledger.ts',
      'thread/start-engine-thread.ts',
      'thread/serve-engine.ts',
    ],
    because: 'ledger/ remembers; it must not know HTTP, Redis or what a sink does (it holds names of sinks).',
  },
  'ledger-postgres': {
    imports: ['audit', 'catalog', 'leads', 'ledger', 'platform', 'postgres'],
    doors: [
      'copying/postgres-copy-source.ts',
      'copying/postgres-copy-target.ts',
      'extraction/postgres-extract.ts',
      'inspect-server.ts',
      'installation-stores.ts',
      'postgres-ledger.ts',
      'postgres-pages.ts',
      'run-sql.ts',
    ],
    because:
      'ledger-postgres/ is being built: the same ledger in PostgreSQL. It takes contracts and rules from ledger/, and must not know SQLite.',
  },
  parquet: {
    imports: ['catalog'],
    because: 'parquet/ reads and writes a file format; it must not know what the bytes are for.',
  },
  bucket: {
    imports: ['platform'],
    because: 'bucket/ reaches S3-compatible storage; it must not know what is stored there, or for whom.',
  },
  postgres: {
    imports: ['leads', 'platform'],
    because: 'postgres/ connects to PostgreSQL and spells values for it; it must not know any table.',
  },
  exports: {
    imports: ['bucket', 'catalog', 'ledger', 'ledger-postgres', 'parquet', 'platform'],
    doors: [
      'start-export-process.ts',
      'export-states.ts',
      'staged-files.ts',
      'restore-source.ts',
      'contract/beyond-keep.ts',
      'contract/options.ts',
      'contract/schedule.ts',
      'contract/format-names.ts',
      'contract/export-failed.ts',
      'destinations/destination.ts',
      'destinations/open-destination.ts',
      'files/export-tables.ts',
      'files/attached-files.ts',
      'files/contains-lead.ts',
    ],
    because: 'exports/ turns tables of the ledger into files; it must not know who asked for them.',
  },
  delivery: {
    imports: ['leads', 'platform', 'telemetry'],
    because:
      'delivery/ carries and retries; it must not know which sinks exist, where leads came from, or SQL.',
  },
  sinks: {
    imports: ['sinks/*', 'leads', 'platform'],
    doors: [
      'sink.ts',
      'sink-type.ts',
      'sink-unavailable.ts',
      'mirror.ts',
      'registry.ts',
      'attempt-parts.ts',
      'lead-event.ts',
      'lead-message.ts',
      'destination-parts.ts',
      'store-answers.ts',
      'test-batch.ts',
    ],
    because: 'sinks/ is the contract and the registry; it must not know queues, attempts or the ledger.',
  },
  'sinks/table': {
    imports: ['sinks', 'leads', 'platform'],
    doors: [
      'field-cells.ts',
      'lead-row.ts',
      'mapped-columns.ts',
      'not-written-error.ts',
      'split-for-statements.ts',
      'table-fields.ts',
    ],
    because:
      'sinks/table/ is what sinks share that write leads as rows; it must not know any database or file format.',
  },
  'sinks/http': {
    imports: ['sinks', 'leads', 'platform'],
    doors: ['api-server.ts', 'json-answer.ts', 'reach-server.ts'],
    because: 'sinks/http/ calls the servers of destinations; it must not know any destination.',
  },
  'sinks/drop': {
    imports: ['bucket', 'sinks', 'leads', 'platform'],
    doors: ['drop.ts', 'drop-options.ts', 'drop-sink.ts', 'leads-in-drop.ts', 'open-drop.ts'],
    because:
      'sinks/drop/ is where sinks drop files; it must not know the format of a file, nor any type of sink.',
  },
  'sinks/crm': {
    imports: ['sinks', 'sinks/http', 'leads', 'platform'],
    doors: [
      'batch-leads.ts',
      'require-fields.ts',
      'curl-command.ts',
      'initial-config-lines.ts',
      'keyed-mutex.ts',
      'lead-key.ts',
      'overwrite.ts',
      'request-window.ts',
      'stored-parts.ts',
      'test-records.ts',
    ],
    because: 'sinks/crm/ is what sinks of CRMs have in common; it must not know any of them.',
  },
  'sinks/*': {
    imports: [
      'sinks',
      'sinks/crm',
      'sinks/drop',
      'sinks/http',
      'sinks/table',
      'catalog',
      'leads',
      'parquet',
      'platform',
      'postgres',
    ],
    because:
      'A sink is one destination; it must not know other sinks, retries or how the configuration is read.',
  },
  mapping: {
    imports: ['leads', 'platform'],
    doors: [
      'compiled-mappings.ts',
      'mapping-definition.ts',
      'language-reference.ts',
      'map-delivery.ts',
      'start-mapping-process.ts',
      'mapping.ts',
      'options.ts',
      'run-tests.ts',
      'sample-lead.ts',
      'try-expression.ts',
      'value-outline.ts',
    ],
    because:
      'mapping/ decides which leads a sink gets and in which form; it must not know sinks, the configuration or the ledger.',
  },
  audit: {
    imports: ['platform'],
    because: 'audit/ keeps who did what; it must not know what an action does, nor who may do it.',
  },
  alerts: {
    imports: ['leads', 'platform', 'sinks/webhook', 'telemetry'],
    doors: [
      'alert-store.ts',
      'alerts.ts',
      'arrival-model.ts',
      'alert-tracker.ts',
      'condition.ts',
      'destination.ts',
      'heartbeat.ts',
      'notice.ts',
      'options.ts',
      'registry.ts',
      'stored-alerts.ts',
    ],
    because:
      'alerts/ notifies people of problems; it must not know how they are found, nor how leads are read, stored or delivered.',
  },
  config: {
    imports: [
      'alerts',
      'delivery',
      'exports',
      'identity',
      'leads',
      'mapping',
      'platform',
      'postgres',
      'sinks',
      'source',
    ],
    doors: [
      'load-config.ts',
      'config-fingerprint.ts',
      'config-warnings.ts',
      'effective-values.ts',
      'contract/config.ts',
      'contract/config-error.ts',
      'options/config-json-schema.ts',
      'options/sink-options.ts',
      'options/source-entry.ts',
      'changes/changed-options.ts',
      'changes/compare-configs.ts',
      'changes/describe-changes.ts',
      'initial/new-config.ts',
      'initial/example-config.ts',
    ],
    because:
      'config/ reads YAML and says what is wrong; it takes options from parts and must not know how they work.',
  },
  status: {
    imports: ['alerts', 'config', 'exports', 'leads', 'ledger', 'platform', 'telemetry'],
    because:
      'status/ describes the state and finds problems; it must not know its callers, and changes nothing.',
  },
  operations: {
    imports: [
      'alerts',
      'audit',
      'config',
      'delivery',
      'exports',
      'identity',
      'leads',
      'ledger',
      'ledger-postgres',
      'mapping',
      'platform',
      'sinks',
      'source',
      'status',
      'telemetry',
    ],
    because:
      'operations/ does what an operator asks for; it must not know who asks, nor what lives in a daemon.',
  },
  daemon: {
    imports: [
      'admin',
      'alerts',
      'audit',
      'catalog',
      'config',
      'delivery',
      'exports',
      'identity',
      'leads',
      'ledger',
      'mapping',
      'operations',
      'platform',
      'sinks',
      'source',
      'status',
      'telemetry',
    ],
    doors: ['daemon.ts', 'start/parts.ts', 'joints/poll.ts', 'watching/watch-config.ts'],
    because: 'daemon/ is the joints and the order of things; it must not know the command line.',
  },
  cli: {
    imports: [
      'admin',
      'alerts',
      'audit',
      'catalog',
      'config',
      'daemon',
      'exports',
      'leads',
      'ledger',
      'mapping',
      'operations',
      'platform',
      'sinks',
      'source',
      'status',
      'telemetry',
    ],
    because: 'cli/ reads words and prints; how deliveries travel is the business of daemon/ and delivery/.',
  },
  'main.ts': {
    imports: ['cli'],
    because: 'main.ts knows that there is a command line, and exit codes.',
  },
};

/** Where a package may be used. One that is not here has no place yet: decide on it, and say it here. */
const packages: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['bucket', 'exports'],
  '@aws-sdk/lib-storage': ['exports'],
  '@bull-board/api': ['admin', 'delivery'], // pages on one side, what they show on the other
  '@bull-board/fastify': ['admin'],
  '@marcbachmann/cel-js': ['mapping'],
  '@platformatic/kafka': ['sinks/kafka'],
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/exporter-trace-otlp-proto': ['telemetry'],
  '@opentelemetry/resources': ['telemetry'],
  '@opentelemetry/sdk-trace': ['telemetry'],
  '@fastify/cookie': ['admin'],
  '@fastify/formbody': ['admin'],
  '@fastify/swagger': ['admin'],
  'better-sqlite3': ['ledger', 'platform'],
  bullmq: ['delivery'],
  commander: ['cli', 'main.ts'],
  'csv-parse': ['platform'],
  fastify: ['admin'],
  'fastify-type-provider-zod': ['admin'],
  htm: ['admin'],
  hyparquet: ['parquet'],
  'hyparquet-writer': ['parquet'],
  'htmx.org': ['admin'], // its files are served
  ioredis: ['delivery'],
  'libphonenumber-js': ['mapping'],
  mysql2: ['sinks/mysql'],
  'node-cron': ['config', 'status'],
  'openid-client': ['identity', 'source'], // persons who log in to the pages, and the service that leads come from
  pg: ['ledger-postgres', 'postgres', 'sinks/postgres'],
  pino: ['telemetry'],
  'pino-pretty': ['telemetry'],
  preact: ['admin'],
  'preact-render-to-string': ['admin'],
  'prom-client': ['telemetry'],
  re2js: ['mapping'],
  nodemailer: ['platform'],
  undici: ['alerts', 'identity', 'platform', 'source', 'sinks/http', 'sinks/webhook'],
  uplot: ['admin'], // its files are served
  yaml: ['config'],
  zod: [
    'admin',
    'alerts',
    'bucket',
    'config',
    'delivery',
    'exports',
    'identity',
    'mapping',
    'platform',
    'postgres',
    'sinks',
    'sinks/*',
    'source',
  ],
};

/** Node's own modules that open a way out of the process. The others may be used anywhere but in `leads/`. */
const builtins: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['cli', 'exports', 'ledger', 'mapping', 'sinks/exec'], // only another process can be ended in the middle of a query, a check or an expression, or keeps an export from the daemon's memory; a program as a destination
  'node:cluster': [],
  'node:dgram': [],
  'node:http': ['cli', 'source'], // the healthcheck, and the address that `login` is sent back to
  'node:http2': [],
  'node:https': [],
  'node:process': [], // `process` is a parameter, or main.ts's
  'node:worker_threads': ['platform', 'ledger', 'exports'], // what looks up while SQLite holds its thread; what answers pages, so that deliveries do not wait; what reads for an export
};

/** What only some rooms may say. */
const words: readonly { word: RegExp; rooms: readonly string[]; because: string }[] = [
  {
    word: /\bconsole\s*\./,
    rooms: [],
    because:
      'What is reported is an event (telemetry/events.ts); what a command prints goes to the stream it was given.',
  },
  {
    word: /\bprocess\s*\.\s*exit\b|\bprocess\s*\[/,
    rooms: ['main.ts', 'cli', 'platform'],
    because: 'Only the command line ends the process; others return or throw, so that everything is closed.',
  },
  {
    word: /\bprocess\s*\.\s*env\b|[{,]\s*env\s*[,}:][^=;]*=\s*process\b/,
    rooms: ['main.ts', 'cli', 'platform'],
    because: 'The environment is read in one place and handed down, so that a test can say what it holds.',
  },
];

/** Names that say nothing of what is inside, and so attract everything. */
const EMPTY_NAMES = /^(index|types?|utils?|helpers?|common|shared|lib|misc|constants|interfaces)$/;

/** Returns each violation of the rules above, as a sentence for its author. */
function offencesIn(files: Files): string[] {
  return [...files].flatMap(([path, text]) => [
    ...importOffences(path, text, files),
    ...wordOffences(path, text),
    ...nameOffences(path, text),
  ]);
}

function importOffences(path: string, text: string, files: Files): string[] {
  const from = roomOf(path);
  const room = ruleOf(from);
  if (room === undefined)
    return [`${path} is in no room. Say in this test what "${from}" knows and must never know.`];
  return importsOf(path, text).flatMap(({ specifier, file }) => {
    if (specifier === undefined) return [`${path} imports a computed name, so its dependency is unknown.`];
    if (file === undefined) return packageOffence(path, from, specifier);
    if (!file.startsWith('src/'))
      return file === 'package.json' ? [] : [`${path} imports ${file}, outside of src/.`];
    if (!files.has(file)) return [`${path} imports ${file}, which does not exist.`];
    return roomOffence(path, from, room, file);
  });
}

function roomOffence(path: string, from: string, room: Room, file: string): string[] {
  const to = roomOf(file);
  if (to === from) return innerOffences(path, file);
  if (!room.imports.some((allowed) => matches(to, allowed))) {
    return [`${path} imports ${file}. ${room.because} Let a short function in src/daemon/ join the two.`];
  }
  const doors = ruleOf(to)?.doors;
  const door = file.slice(`src/${to}/`.length);
  if (doors === undefined || doors.includes(door)) return [];
  return [`${path} imports ${file}, which is private to ${to}/. Its doors are ${doors.join(', ')}.`];
}

function innerOffences(path: string, file: string): string[] {
  return Object.entries(innerRooms).flatMap(([room, inside]) => {
    const [own, to] = [innerRoomOf(path, room), innerRoomOf(file, room)];
    if (own === undefined || to === undefined || own === to) return [];
    const rule = inside[own];
    if (rule === undefined)
      return [
        `${path} is in no inner room. Say in test/inner-rooms.ts what ${room}/${own}/ knows and must never know.`,
      ];
    return rule.imports.includes(to) ? [] : [`${path} imports ${file}. ${rule.because}`];
  });
}

function packageOffence(path: string, from: string, specifier: string): string[] {
  if (specifier.startsWith('node:')) {
    if (from === 'leads') return [`${path} imports ${specifier}. ${ruleOf(from)?.because}`];
    const allowed = builtins[specifier];
    if (allowed === undefined || allowed.some((room) => matches(from, room))) return [];
    return [`${path} imports ${specifier}, which opens a way out of the process: ${placesOf(allowed)}.`];
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  const allowed = packages[name];
  if (allowed === undefined)
    return [`${path} imports ${name}. Say in this test which room may use it, and why there.`];
  if (allowed.some((room) => matches(from, room))) return [];
  return [`${path} imports ${name}. What it does is the business of one room: ${placesOf(allowed)}.`];
}

function wordOffences(path: string, text: string): string[] {
  const code = withoutComments(text);
  const offending = words.filter((rule) => rule.word.test(code) && !rule.rooms.includes(roomOf(path)));
  return offending.map((rule) => `${path} says ${rule.word.exec(code)?.[0].trim()}. ${rule.because}`);
}

function nameOffences(path: string, text: string): string[] {
  const empty = posix
    .relative('src', path)
    .replace(/\.ts$/, '')
    .split('/')
    .find((part) => EMPTY_NAMES.test(part));
  return [
    ...(empty === undefined
      ? []
      : [`${path}: "${empty}" says nothing of what is inside. Name it after what it promises.`]),
    ...(handsOn(text)
      ? [`${path} hands on what another file exports. Import it from where it is: it shows who needs what.`]
      : []),
  ];
}

/** `source`, `sinks/csv`, `main.ts`. */
function roomOf(path: string): string {
  const [, first = '', ...rest] = path.split('/');
  return first === 'sinks' && rest.length > 1 ? `sinks/${rest[0]}` : first;
}

/** `queries` of `src/ledger/queries/lead-list.ts` in `ledger`; `.` for a file of the room itself; undefined for a file outside the room. */
function innerRoomOf(path: string, room: string): string | undefined {
  if (!path.startsWith(`src/${room}/`)) return undefined;
  const [first = '.', ...rest] = path.slice(`src/${room}/`.length).split('/');
  return rest.length > 0 ? first : '.';
}

function ruleOf(room: string): Room | undefined {
  return rooms[room] ?? (matches(room, 'sinks/*') ? rooms['sinks/*'] : undefined);
}

function matches(room: string, allowed: string): boolean {
  return room === allowed || (allowed === 'sinks/*' && room.startsWith('sinks/'));
}

function placesOf(allowed: readonly string[]): string {
  return allowed.length === 0 ? 'no room may use it' : `it may be used in ${allowed.join(', ')}`;
}

const root = posix.join(import.meta.dirname.replaceAll('\\', '/'), '..');
const source = readFiles(root, 'src');
const foldersOfSrc = [...new Set([...source.keys()].map(roomOf))];

describe('the rooms of the house', () => {
  test.each(foldersOfSrc)('%s imports what its line allows, and nothing else', (room) => {
    const own = offencesIn(source).filter((offence) => roomOf(offence.split(/[ :]/, 1)[0] ?? '') === room);
    expect(own.join('\n')).toBe('');
  });

  test('every inner room of the plan is there', () => {
    const missing = Object.entries(innerRooms).flatMap(([room, inside]) => {
      const there = new Set([...source.keys()].map((path) => innerRoomOf(path, room)));
      return Object.keys(inside).flatMap((inner) => (there.has(inner) ? [] : [`${room} ${inner}`]));
    });
    expect(missing).toEqual([]);
  });

  test('no file imports itself over others', () => {
    expect(findCircle(source)?.join(' → ')).toBeUndefined();
  });

  test('every room of the plan is there', () => {
    const planned = Object.keys(rooms).filter(
      (room) => !foldersOfSrc.some((folder) => matches(folder, room)),
    );
    expect(planned).toEqual([]);
  });

  test('every package that leadsync depends on has its place', () => {
    const manifest = JSON.parse(readFileSync(posix.join(root, 'package.json'), 'utf8'));
    expect(Object.keys(packages).sort()).toEqual(Object.keys(manifest.dependencies).sort());
  });

  test('every door is there', () => {
    const doors = Object.entries(rooms).flatMap(([room, { doors }]) =>
      (doors ?? []).map((door) => `src/${room}/${door}`),
    );
    expect(doors.filter((door) => !source.has(door))).toEqual([]);
  });
});

describe('the check itself', () => {
  const others: [string, string][] = [
    ['src/ledger/contract/ledger.ts', ''],
    ['src/ledger/delivering/settling.ts', ''],
    ['src/leads/lead.ts', ''],
    ['src/sinks/sink.ts', ''],
    ['src/sinks/csv/csv.ts', ''],
  ];
  const offencesOf = (path: string, text: string) => offencesIn(new Map([...others, [path, text]]));

  test.each([
    [
      'src/source/a.ts',
      "import { open } from '../ledger/contract/ledger.ts';",
      'must not know that leads are remembered',
    ],
    [
      'src/source/a.ts',
      "import type { Ledger } from '../ledger/contract/ledger.ts';",
      'must not know that leads are remembered',
    ],
    [
      'src/source/a.ts',
      "import {\n  type A,\n  b,\n} from '../ledger/contract/ledger.ts';",
      'must not know that leads',
    ],
    ['src/source/a.ts', "import '../ledger/contract/ledger.ts';", 'must not know that leads are remembered'],
    [
      'src/source/a.ts',
      "import * as all from '../ledger/contract/ledger.ts';",
      'must not know that leads are remembered',
    ],
    [
      'src/source/a.ts',
      "const x = await import('../ledger/contract/ledger.ts');",
      'must not know that leads are remembered',
    ],
    [
      'src/source/a.ts',
      "let x: import('../ledger/contract/ledger.ts').Ledger;",
      'must not know that leads are remembered',
    ],
    [
      'src/source/a.ts',
      'const x = await import(`../ledger/contract/ledger.ts`);',
      'must not know that leads are remembered',
    ],
    [
      'src/source/a.ts',
      "const x = 1; import y from '../ledger/contract/ledger.ts';",
      'must not know that leads are remembered',
    ],
    ['src/source/a.ts', 'await import(`../${name}.ts`);', 'computed name'],
    ['src/source/a.ts', 'await import(name);', 'computed name'],
    ['src/source/a.ts', "export { open } from '../leads/lead.ts';", 'hands on'],
    ['src/source/a.ts', "export * from '../leads/lead.ts';", 'hands on'],
    ['src/source/a.ts', "import x from '../leads/nothing.ts';", 'does not exist'],
    ['src/source/a.ts', "import x from '../../test/support/until.ts';", 'outside of src/'],
    ['src/source/a.ts', "import { Pool } from 'pg';", 'sinks/postgres'],
    ['src/source/a.ts', "import x from 'left-pad';", 'which room may use it'],
    ['src/source/a.ts', "import x from '@scope/left-pad/sub';", 'imports @scope/left-pad.'],
    ['src/source/a.ts', "const x = require('pg');", 'sinks/postgres'],
    [
      'src/source/a.ts',
      "import { spawn } from 'node:child_process';",
      'it may be used in cli, exports, ledger, mapping',
    ],
    ['src/source/a.ts', 'console.log(1);', 'is an event'],
    ['src/source/a.ts', 'process.exit(1);', 'command line ends the process'],
    ['src/source/a.ts', "const home = process.env['HOME'];", 'read in one place'],
    ['src/source/a.ts', 'const { env } = process;', 'read in one place'],
    ['src/source/utils.ts', '', 'says nothing of what is inside'],
    ['src/source/helpers/a.ts', '', 'says nothing of what is inside'],
    ['src/leads/a.ts', "import { hash } from 'node:crypto';", 'a noun that imports'],
    ['src/leads/a.ts', "import type { z } from 'zod';", 'business of one room'],
    ['src/sinks/smtp/a.ts', "import x from '../csv/csv.ts';", 'must not know other sinks'],
    ['src/delivery/a.ts', "import type { Sink } from '../sinks/sink.ts';", 'must not know which sinks exist'],
    ['src/daemon/a.ts', "import x from '../ledger/delivering/settling.ts';", 'private to ledger/'],
    [
      'src/ledger/contract/a.ts',
      "import x from '../delivering/settling.ts';",
      'must not know how any of it is done',
    ],
    ['src/ledger/queries/a.ts', "import x from '../delivering/settling.ts';", 'ledger/queries/ only reads'],
    ['src/ledger/attic/a.ts', "import x from '../delivering/settling.ts';", 'is in no inner room'],
    ['src/cellar/a.ts', '', 'is in no room'],
  ])('reports %s with: %j', (path, text, sentence) => {
    const offences = offencesOf(path, text);
    expect(offences.join('\n')).toContain(sentence);
    expect(offences.join('\n')).toContain(path);
  });

  test.each([
    ['src/source/a.ts', "import type { Lead } from '../leads/lead.ts';\nimport { fetch } from 'undici';"],
    [
      'src/source/a.ts',
      "// process.exit is for the command line, console.log is not used\nconst at = 'https://x.example';",
    ],
    ['src/source/a.ts', "const hint = 'an import of goods from abroad';\nimport.meta.dirname;"],
    ['src/sinks/smtp/a.ts', "import type { Sink } from '../sink.ts';\nimport { z } from 'zod';"],
    ['src/sinks/registry.ts', "import { csv } from './csv/csv.ts';"],
    ['src/main.ts', 'process.exitCode = 1; const { env } = process;'],
  ])('accepts %s with: %j', (path, text) => {
    expect(offencesOf(path, text)).toEqual([]);
  });

  test('finds a circular import, and none if there is none', () => {
    const a: [string, string] = ['src/a.ts', "import './b.ts';"];
    expect(findCircle(new Map([a, ['src/b.ts', "import type { A } from './a.ts';"]]))).toEqual([
      'src/a.ts',
      'src/b.ts',
      'src/a.ts',
    ]);
    expect(findCircle(new Map([a, ['src/b.ts', "import './c.ts';"], ['src/c.ts', '']]))).toBeUndefined();
  });

  test('sees the whole house', () => {
    const imports = [...source].flatMap(([path, text]) => importsOf(path, text));
    expect(source.size).toBeGreaterThan(60);
    expect(imports.length).toBeGreaterThan(200);
    // As many as a plain count of the word at the start of lines.
    const counted = [...source.values()].flatMap((text) => text.match(/^import\b/gm) ?? []).length;
    expect(imports.length).toBeGreaterThanOrEqual(counted);
  });
});
