import { existsSync, readFileSync } from 'node:fs';
import type { Preview } from '../../../src/sinks/sink.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { type ExecInput, openExec, ProgramFolder } from './open-exec.ts';

type Speaks = NonNullable<ExecInput['speaks']>;

promisesOfEverySink('exec, JSON lines', () => start('jsonl'));
promisesOfEverySink('exec, a Singer target', () => start('singer'));

for (const speaks of ['jsonl', 'singer'] as const)
  promisesOfAnswers(`exec, ${speaks}`, {
    cut: () => startAnswering(speaks, STORES_THEN_DIES),
    mixed: () => startAnswering(speaks, REFUSES_LEAD_2),
    vague: () => startAnswering(speaks, DOES_NOTHING[speaks]),
  });

/** Appends its input to a file as it is, in one write, and repeats the last STATE of a Singer tap. */
const STORES = `
const text = readAll();
const state = linesOf(text).map((line) => JSON.parse(line)).findLast(({ type }) => type === 'STATE');
fs.appendFileSync(here('stored'), text);
if (state) console.log(JSON.stringify(state.value));
`;

/** Stores the first batch, and then ends with the exit code that asks to try again later. */
const STORES_THEN_DIES = `
const isFirst = !fs.existsSync(here('stored'));
${STORES}
if (isFirst) process.exitCode = 75;
`;

const REFUSES_LEAD_2 = `
const input = readAll();
if (/"data":\\{"id":2,|"record":\\{"source":"main","id":2,/.test(input)) throw new Error('Anna has the wrong phone number');
fs.readFileSync = () => input;
${STORES}
`;

/** A program that is something else: one that reads nothing, and one that succeeds at whatever it does. */
const DOES_NOTHING: Readonly<Record<Speaks, string>> = {
  jsonl: 'process.exit(75);',
  singer: "readAll(); console.log('42 rows'); console.log('{}');",
};

function startAnswering(speaks: Speaks, code: string): Promise<Answering> {
  const folder = new ProgramFolder();
  return Promise.resolve({
    sink: openExec({ command: folder.node('program', code), speaks }),
    arrived: async () => stored(folder, speaks).map(({ id }) => id),
    close: async () => folder.remove(),
  });
}

async function start(speaks: Speaks): Promise<Destination> {
  const folder = new ProgramFolder();
  const options = { speaks, max_lead_size: '64mb' } as const;
  const command = folder.node('stores', STORES);
  return {
    open: (parts) => openExec({ ...options, command }, parts),
    openUnavailable: () => openExec({ ...options, command: [folder.at('missing')] }),
    openHanging: () =>
      openExec({ ...options, command: folder.node('hangs', 'setInterval(() => {}, 1000);') }),
    arrived: async () => stored(folder, speaks),
    received: async () => received(folder, command[0] ?? ''),
    documented: (text) => (speaks === 'jsonl' ? text : text.replaceAll('\0', '\ufffd').toWellFormed()),
    documentedAnswer: (text) => (speaks === 'jsonl' ? text : text.replaceAll('\0', '\ufffd').toWellFormed()),
    close: async () => folder.remove(),
  };
}

function inputOf(folder: ProgramFolder): string {
  const file = folder.at('stored');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function received(folder: ProgramFolder, program: string): Preview[] {
  const content = inputOf(folder);
  return content === '' ? [] : [{ target: `standard input of ${program}`, fields: {}, content }];
}

/** As a program is told to: repeats are recognised, tests are no leads, ids are read with all their digits. */
function stored(folder: ProgramFolder, speaks: Speaks): Arrived[] {
  const lines = inputOf(folder)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line, exactId));
  return speaks === 'jsonl' ? leadsOfEvents(lines) : leadsOfRecords(lines);
}

function leadsOfEvents(lines: readonly Line[]): Arrived[] {
  const events = lines.filter(({ type }) => type === 'lead.created' || type === 'lead.updated');
  return [...new Map(events.map((event) => [event.id, event])).values()].map(({ source, data }) => ({
    ...(data as unknown as Arrived),
    source: source ?? '',
    client_address:
      (data?.['client_address'] as { friendly_address: string } | null)?.friendly_address ?? null,
    answers: data?.['service_question_answers'] as Arrived['answers'],
  }));
}

function leadsOfRecords(lines: readonly Line[]): Arrived[] {
  const records = (stream: string) =>
    lines.flatMap((line) => (line.type === 'RECORD' && line.stream === stream ? [line.record ?? {}] : []));
  const leads = new Map(records('leads').map((row) => [`${row['source']}:${row['id']}`, row]));
  const answers = new Map(
    records('lead_answers').map((row) => [`${row['source']}:${row['lead_id']}:${row['position']}`, row]),
  );
  return [...leads.values()].map((row) => ({
    ...(row as unknown as Arrived),
    answers: [...answers.values()]
      .filter((answer) => answer['source'] === row['source'] && answer['lead_id'] === row['id'])
      .map((one) => ({ question: `${one['question']}`, slug: `${one['slug']}`, answer: `${one['answer']}` })),
  }));
}

interface Line {
  readonly type: string;
  readonly id?: string;
  readonly source?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly stream?: string;
  readonly record?: Readonly<Record<string, unknown>>;
}

function exactId(key: string, value: unknown, context?: { source?: string }): unknown {
  return (key === 'id' || key === 'lead_id') && typeof value === 'number' ? context?.source : value;
}
