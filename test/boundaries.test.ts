import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
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
 * `because`: what it must not know, told to whoever crosses the line.
 */
interface Room {
  readonly imports: readonly string[];
  readonly doors?: readonly string[];
  readonly because: string;
}

/** A folder inside a room: the folders of the same room that its files may import, and why no others. `.` is the room's own files. */
interface InnerRoom {
  readonly imports: readonly string[];
  readonly because: string;
}

const innerRooms: Readonly<Record<string, Readonly<Record<string, InnerRoom>>>> = {
  ledger: {
    contract: {
      imports: [],
      because:
        'ledger/contract/ says what others may ask of a ledger; it must not know how any of it is done.',
    },
    database: {
      imports: ['contract'],
      because:
        'ledger/database/ is the file, its schema and its transactions; it must not know what a lead is owed.',
    },
    privacy: {
      imports: ['contract', 'database'],
      because:
        'ledger/privacy/ takes persons and old contents out; it must not know who asks for what is left.',
    },
    queries: {
      imports: ['contract', 'database', 'privacy'],
      because: 'ledger/queries/ only reads; what it imports must not write what polls and deliveries write.',
    },
    delivering: {
      imports: ['contract', 'database', 'privacy', 'queries'],
      because:
        'ledger/delivering/ is what is owed, claimed and settled; it must not know how a listing is recorded.',
    },
    recording: {
      imports: ['contract', 'database', 'delivering'],
      because: 'ledger/recording/ takes in a listing, and owes what is new in the same transaction.',
    },
    extraction: {
      imports: ['contract', 'database'],
      because: 'ledger/extraction/ reads whole tables for exports and queries, over a connection of its own.',
    },
    '.': {
      imports: ['contract', 'database', 'privacy', 'queries', 'delivering', 'recording'],
      because: 'The files of ledger/ itself put the ledger together; begin at sqlite-ledger.ts.',
    },
    thread: {
      imports: ['contract', '.'],
      because: 'ledger/thread/ asks a ledger in another thread; it must not know what the questions mean.',
    },
    recovery: {
      imports: ['contract', 'database', 'privacy', 'delivering', 'thread'],
      because:
        'ledger/recovery/ makes a new ledger of what can be read of a damaged one, while none is open.',
    },
  },
  cli: {
    shell: {
      imports: [],
      because:
        'cli/shell/ is what every command has of its terminal and its options; it must not know any command.',
    },
    running: {
      imports: ['shell'],
      because: 'cli/running/ asks the leadsync that runs; it must not know what for.',
    },
    views: {
      imports: ['shell'],
      because: 'cli/views/ turns what is known into text; it must not know where that comes from.',
    },
    query: {
      imports: ['shell'],
      because: 'cli/query/ answers SQL in a process of its own; it must not know any other command.',
    },
    init: {
      imports: ['shell'],
      because: 'cli/init/ asks what a first configuration needs; it must not know any other command.',
    },
    'support-bundle': {
      imports: ['shell', 'running', 'views'],
      because: 'cli/support-bundle/ collects what helps to find a fault; it must not know any other command.',
    },
    completion: {
      imports: ['shell'],
      because:
        'cli/completion/ writes scripts for shells from the tree of commands; it must not load any of them.',
    },
    commands: {
      imports: ['shell', 'running', 'views', 'query', 'init', 'support-bundle', 'completion', '.'],
      because: 'A command is a file of cli/commands/; it must not import another command.',
    },
    '.': {
      imports: ['shell', 'completion', 'commands'],
      because: 'The files of cli/ itself find the command and run it; begin at command-line.ts.',
    },
  },
  source: {
    contract: {
      imports: [],
      because:
        'source/contract/ says what a source is and what can be set; it must not know how one is read.',
    },
    http: {
      imports: ['contract'],
      because: 'source/http/ is one call of the service; it must not know what is called for.',
    },
    auth: {
      imports: ['contract', 'http'],
      because: 'source/auth/ gets tokens and renews them; it must not know what they open.',
    },
    listing: {
      imports: ['contract', 'http', 'auth'],
      because: 'source/listing/ reads the listing in blocks; it must not know what becomes of its leads.',
    },
    '.': {
      imports: ['contract', 'auth', 'listing', 'http'],
      because: 'The file of source/ itself puts a source together.',
    },
  },
  daemon: {
    joints: {
      imports: [],
      because:
        'daemon/joints/ joins two rooms in a short function each; it must not know what starts or stops it.',
    },
    start: {
      imports: ['joints'],
      because: 'daemon/start/ opens the parts in their order; it must not know what is built of them.',
    },
    units: {
      imports: ['joints', 'start'],
      because:
        'daemon/units/ runs a source or a sink as one, and exchanges it on a reload; it must not know who asks.',
    },
    upkeep: {
      imports: [],
      because: 'daemon/upkeep/ tidies in the background; it must not know any source or sink.',
    },
    watching: {
      imports: ['start', 'units'],
      because: 'daemon/watching/ looks for what changes outside; what follows from it is done by others.',
    },
    api: {
      imports: ['start', 'units'],
      because: 'daemon/api/ answers what admin/ asks; it must not know how pages look.',
    },
    '.': {
      imports: ['joints', 'start', 'units', 'upkeep', 'watching', 'api'],
      because: 'The file of daemon/ itself, daemon.ts, starts and stops everything; begin there.',
    },
  },
  operations: {
    opening: {
      imports: [],
      because:
        'operations/opening/ opens what an operation works on; it must not know what it is opened for.',
    },
    '.': {
      imports: ['opening'],
      because: 'An operation is a file of operations/; it must not know how a person is erased.',
    },
    erasure: {
      imports: ['opening', '.'],
      because: 'operations/erasure/ takes a person out everywhere; it must not know any command.',
    },
  },
  config: {
    contract: {
      imports: [],
      because:
        'config/contract/ says what a valid configuration is, and what a fault; it must not know how one is read.',
    },
    faults: {
      imports: ['contract'],
      because: 'config/faults/ collects and words what is wrong; it must not know which options there are.',
    },
    options: {
      imports: ['contract', 'faults'],
      because: 'config/options/ is the schemas; it must not know the file in which the values stand.',
    },
    reading: {
      imports: ['contract', 'faults', 'options'],
      because: 'config/reading/ makes a configuration of YAML; it must not know what for.',
    },
    changes: {
      imports: ['contract'],
      because: 'config/changes/ compares two configurations; it must not know how either was read.',
    },
    initial: {
      imports: [],
      because: 'config/initial/ writes a configuration to begin with; it must not read one.',
    },
    '.': {
      imports: ['contract', 'faults', 'options', 'reading'],
      because: 'The files of config/ itself read a file as a whole; begin at load-config.ts.',
    },
  },
  exports: {
    contract: {
      imports: [],
      because:
        'exports/contract/ says what an export is and how one fails; it must not know how one is made.',
    },
    destinations: {
      imports: ['contract'],
      because: 'exports/destinations/ puts files into a directory or S3; it must not know what is in them.',
    },
    files: {
      imports: ['contract'],
      because: 'exports/files/ turns rows into a file and back; it must not know where the file goes.',
    },
    '.': {
      imports: ['contract', 'destinations', 'files'],
      because: 'The files of exports/ itself make one export from end to end; begin at run-export.ts.',
    },
  },
  platform: {
    time: {
      imports: [],
      because: 'platform/time/ is clocks, deadlines and moments; it must not know what waits for them.',
    },
    failures: {
      imports: [],
      because: 'platform/failures/ words what the system refused; it must not know what was tried.',
    },
    process: {
      imports: [],
      because: 'platform/process/ is this process and its program; it must not know what runs in it.',
    },
    text: {
      imports: [],
      because: 'platform/text/ writes and reads text; it must not know what the text is about.',
    },
    http: {
      imports: [],
      because: 'platform/http/ is addresses and headers; it must not know who calls whom.',
    },
    files: {
      imports: ['time', 'failures', 'process'],
      because: 'platform/files/ is files, folders and locks on them; it must not know what is in them.',
    },
    options: {
      imports: ['files'],
      because: 'platform/options/ is the kinds of options and secrets; it must not know any option.',
    },
  },
  admin: {
    contract: {
      imports: [],
      because: 'admin/contract/ says what can be asked and how it is refused; it must not know HTTP.',
    },
    http: {
      imports: ['contract'],
      because: 'admin/http/ is requests and answers of any kind; it must not know who may ask.',
    },
    gate: {
      imports: ['contract', 'http'],
      because: 'admin/gate/ lets in whoever may ask; it must not know what is asked.',
    },
    api: {
      imports: ['contract', 'http'],
      because: 'admin/api/ answers programs; it must not know who was let in, nor any page.',
    },
    pages: {
      imports: ['contract', 'http'],
      because: 'admin/pages/ answers people; it must not know who was let in, nor the API.',
    },
    '.': {
      imports: ['contract', 'http', 'gate', 'api', 'pages'],
      because: 'The files of admin/ itself put the server together; begin at server.ts.',
    },
  },
};

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
  admin: {
    imports: ['platform'],
    doors: [
      'server.ts',
      'address-error.ts',
      'contract/operations.ts',
      'contract/model.ts',
      'contract/refusal.ts',
    ],
    because: 'admin/ speaks HTTP and is handed functions; it must not know the rooms that answer.',
  },
  source: {
    imports: ['leads', 'platform', 'telemetry'],
    because: 'source/ reads the listing service; it must not know that leads are remembered or delivered.',
  },
  catalog: {
    imports: [],
    doors: ['documented.ts', 'extraction.ts', 'mirrored.ts', 'query.ts', 'relation.ts'],
    because: 'catalog/ describes what people query; it must not know where that is kept.',
  },
  ledger: {
    imports: ['catalog', 'leads', 'platform'],
    doors: [
      'contract/ledger.ts',
      'contract/ledger-asking.ts',
      'contract/ledger-delivering.ts',
      'contract/ledger-polling.ts',
      'contract/claim.ts',
      'contract/declared.ts',
      'contract/shown.ts',
      'contract/ledger-error.ts',
      'database/inspect-file.ts',
      'recovery/build.ts',
      'recovery/run-build.ts',
      'database/leftovers.ts',
      'recovery/exchange.ts',
      'extraction/extracting.ts',
      'contract/news-entries.ts',
      'extraction/public-copy.ts',
      'extraction/copied-rows.ts',
      'extraction/reading.ts',
      'recording/id-set.ts',
      'sqlite-ledger.ts',
      'thread/open-in-thread.ts',
      'thread/serve-engine.ts',
      'queries/reader.ts',
      'contract/answers.ts',
      'database/backup.ts',
    ],
    because: 'ledger/ remembers; it must not know HTTP, Redis or what a sink does (it holds names of sinks).',
  },
  parquet: {
    imports: ['catalog'],
    because: 'parquet/ reads and writes a file format; it must not know what the bytes are for.',
  },
  exports: {
    imports: ['catalog', 'ledger', 'parquet', 'platform'],
    doors: [
      'run-export.ts',
      'export-lock.ts',
      'export-states.ts',
      'contract/options.ts',
      'contract/schedule.ts',
      'contract/export-format.ts',
      'contract/export-failed.ts',
      'destinations/destination.ts',
      'destinations/open-destination.ts',
      'files/export.ts',
      'files/whole-or-not.ts',
      'files/holding.ts',
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
      'registry.ts',
      'attempt-parts.ts',
      'held-files.ts',
      'file-drop.ts',
      'lead-row.ts',
      'test-batch.ts',
    ],
    because: 'sinks/ is the contract and the registry; it must not know queues, attempts or the ledger.',
  },
  'sinks/*': {
    imports: ['sinks', 'catalog', 'leads', 'parquet', 'platform'],
    because:
      'A sink is one destination; it must not know other sinks, retries or how the configuration is read.',
  },
  alerts: {
    imports: ['leads', 'platform', 'sinks/webhook', 'telemetry'],
    doors: [
      'alerts.ts',
      'arrivals.ts',
      'observed.ts',
      'open-destination.ts',
      'destination.ts',
      'notice.ts',
      'options.ts',
      'registry.ts',
    ],
    because:
      'alerts/ judges what is observed and tells people; it must not know how leads are read, kept or delivered.',
  },
  config: {
    imports: ['alerts', 'exports', 'leads', 'platform', 'sinks', 'source'],
    doors: [
      'load-config.ts',
      'config-warnings.ts',
      'effective-values.ts',
      'contract/config.ts',
      'contract/config-error.ts',
      'faults/suggest.ts',
      'options/config-schema.ts',
      'options/sink-options.ts',
      'options/source-entry.ts',
      'changes/compare-configs.ts',
      'changes/describe-changes.ts',
      'initial/new-config.ts',
      'initial/example-config.ts',
    ],
    because:
      'config/ reads YAML and says what is wrong; it takes options from parts and must not know how they work.',
  },
  status: {
    imports: ['config', 'exports', 'leads', 'ledger', 'platform', 'telemetry'],
    because: 'status/ says what is and what is wrong; it must not know who asks, and changes nothing.',
  },
  operations: {
    imports: [
      'alerts',
      'config',
      'delivery',
      'exports',
      'leads',
      'ledger',
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
      'catalog',
      'config',
      'delivery',
      'exports',
      'leads',
      'ledger',
      'operations',
      'platform',
      'sinks',
      'source',
      'status',
      'telemetry',
    ],
    doors: ['daemon.ts', 'start/compose.ts', 'joints/poll.ts'],
    because: 'daemon/ is the joints and the order of things; it must not know the command line.',
  },
  cli: {
    imports: [
      'admin',
      'alerts',
      'catalog',
      'config',
      'daemon',
      'exports',
      'leads',
      'ledger',
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
  '@aws-sdk/client-s3': ['exports'],
  '@aws-sdk/lib-storage': ['exports'],
  '@bull-board/api': ['admin', 'delivery'], // pages on one side, what they show on the other
  '@bull-board/fastify': ['admin'],
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/exporter-trace-otlp-proto': ['telemetry'],
  '@opentelemetry/resources': ['telemetry'],
  '@opentelemetry/sdk-trace': ['telemetry'],
  '@fastify/cookie': ['admin'],
  '@fastify/formbody': ['admin'],
  '@fastify/rate-limit': ['admin'],
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
  'node-cron': ['config', 'status'],
  'openid-client': ['source'],
  pg: ['sinks/postgres'],
  pino: ['telemetry'],
  'pino-pretty': ['telemetry'],
  preact: ['admin'],
  'preact-render-to-string': ['admin'],
  'prom-client': ['telemetry'],
  nodemailer: ['alerts'],
  undici: ['alerts', 'source', 'sinks/webhook'],
  uplot: ['admin'], // its files are served
  yaml: ['config'],
  zod: ['admin', 'alerts', 'config', 'exports', 'platform', 'sinks', 'sinks/*', 'source'],
};

/** Node's own modules that open a way out of the process. The others may be used anywhere but in `leads/`. */
const builtins: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['cli', 'exports', 'ledger'], // only another process can be ended in the middle of a query or a check, or keeps an export from the daemon's memory
  'node:cluster': [],
  'node:dgram': [],
  'node:http': ['cli', 'source'], // the healthcheck, and the address that `login` is sent back to
  'node:http2': [],
  'node:https': [],
  'node:process': [], // `process` is a parameter, or main.ts's
  'node:worker_threads': ['cli', 'ledger', 'exports'], // what looks up while a query holds its thread; what answers pages, so that deliveries do not wait; what reads for an export
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

/** Every crossing of a line above, each as a sentence for whoever crossed it. */
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
    if (specifier === undefined)
      return [`${path} imports a computed name. Nobody can tell what it depends on.`];
    if (file === undefined) return packageOffence(path, from, specifier);
    if (!file.startsWith('src/'))
      return file === 'package.json' ? [] : [`${path} imports ${file}, outside of src/.`];
    if (!files.has(file)) return [`${path} imports ${file}, which does not exist.`];
    return roomOffence(path, from, room, file);
  });
}

function roomOffence(path: string, from: string, room: Room, file: string): string[] {
  const to = roomOf(file);
  if (to === from) return innerOffence(path, from, file);
  if (!room.imports.some((allowed) => matches(to, allowed))) {
    return [`${path} imports ${file}. ${room.because} Let a short function in src/daemon/ join the two.`];
  }
  const doors = ruleOf(to)?.doors;
  const door = file.slice(`src/${to}/`.length);
  if (doors === undefined || doors.includes(door)) return [];
  return [`${path} imports ${file}, which is private to ${to}/. Its doors are ${doors.join(', ')}.`];
}

function innerOffence(path: string, room: string, file: string): string[] {
  const inside = innerRooms[room];
  const [own, to] = [innerRoomOf(path), innerRoomOf(file)];
  if (inside === undefined || own === to) return [];
  const rule = inside[own];
  if (rule === undefined)
    return [`${path} is in no inner room. Say in this test what ${room}/${own}/ knows and must never know.`];
  return rule.imports.includes(to) ? [] : [`${path} imports ${file}. ${rule.because}`];
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

/** `queries` of `src/ledger/queries/lead-list.ts`; `.` for a file of the room itself. */
function innerRoomOf(path: string): string {
  const [, , ...rest] = path.split('/');
  return rest.length > 1 ? (rest[0] ?? '.') : '.';
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
    const planned = Object.entries(innerRooms).flatMap(([room, inside]) =>
      Object.keys(inside).map((inner) => `${room} ${inner}`),
    );
    const there = new Set([...source.keys()].map((path) => `${roomOf(path)} ${innerRoomOf(path)}`));
    expect(planned.filter((one) => !there.has(one))).toEqual([]);
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
      'it may be used in cli, exports, ledger',
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
  ])('is told of %s with: %j', (path, text, sentence) => {
    const offences = offencesOf(path, text);
    expect(offences.join('\n')).toContain(sentence);
    expect(offences.join('\n')).toContain(path);
  });

  test.each([
    ['src/source/a.ts', "import type { Lead } from '../leads/lead.ts';\nimport { fetch } from 'undici';"],
    [
      'src/source/a.ts',
      "// process.exit is for the command line, console.log for nobody\nconst at = 'https://x.example';",
    ],
    ['src/source/a.ts', "const hint = 'an import of goods from abroad';\nimport.meta.dirname;"],
    ['src/sinks/smtp/a.ts', "import type { Sink } from '../sink.ts';\nimport { z } from 'zod';"],
    ['src/sinks/registry.ts', "import { csv } from './csv/csv.ts';"],
    ['src/main.ts', 'process.exitCode = 1; const { env } = process;'],
  ])('has nothing to say about %s with: %j', (path, text) => {
    expect(offencesOf(path, text)).toEqual([]);
  });

  test('finds a circle, and none where there is none', () => {
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
