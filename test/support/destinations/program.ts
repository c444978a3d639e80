import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Held, versionIn } from '../scene/scene.ts';
import type { Destination, DestinationType } from './destination.ts';

/** What leadsync speaks with the program. */
type Language = 'jsonl' | 'singer';

/** Stores each input as a file in `taken`, which appears at once, in the manner that the file `manner` names. */
const PROGRAM = `#!/bin/sh
cd "\${0%/*}" || exit 75
read -r manner < manner
part=$(mktemp part.XXXXXX)
store() { mv "$part" "taken/$part"; }
answer() { tail -n 1 "$1" | sed -n 's/^{"type":"STATE","value":\\(.*\\)}$/\\1/p'; }
[ "$manner" = unread ] && exit 1
cat > "$part" || exit 75
state=$(answer "$part")
case $manner in
  fails) exit 1 ;;
  later) exit 75 ;;
  half) head -n $(( ($(wc -l < "$part") + 1) / 2 )) "$part" > "$part.half"; mv "$part.half" "taken/$part"; exit 1 ;;
  stored) store; exit 1 ;;
  killed) kill -KILL $$ ;;
  stored-killed) store; kill -KILL $$ ;;
  hangs) sleep 60 ;;
  stored-hangs) store; sleep 60 ;;
  stubborn) trap '' TERM; store; sleep 60; sleep 60 ;;
  refuses) grep -qE '"(id|_leadsync_lead_id)":[0-9]*7,|"lead":"[a-z]+:[0-9]*7"' "$part" && exit 1 ;;
  blames) grep -qE '"(id|_leadsync_lead_id)":[0-9]*7,|"lead":"[a-z]+:[0-9]*7"' "$part" && exit 65 ;;
  mute) exit 0 ;;
  slow) sleep 1 ;;
esac
store
printf '%s\\n' "$state"
`;

/** What the program can do wrong, in words, and its manner. */
const MANNERS: Readonly<Record<string, string>> = {
  'fails before it reads': 'unread',
  'fails before it stores': 'fails',
  'asks to try later': 'later',
  'stores half and fails': 'half',
  'stores and fails': 'stored',
  'is killed before it stores': 'killed',
  'stores and is killed': 'stored-killed',
  'hangs before it stores': 'hangs',
  'stores and hangs': 'stored-hangs',
  'stores and ignores SIGTERM': 'stubborn',
  'does not take one lead in ten': 'refuses',
  'blames one lead in ten': 'blames',
  'is slow': 'slow',
};

/** A program that reads JSON lines. */
export const program: DestinationType = {
  troubles: [...Object.keys(MANNERS), 'is not executable'],
  fields: (number) => ({
    id: 'delivery.id',
    lead: 'lead.key',
    text: 'lead.all_details_one_liner',
    form: { value: number },
  }),
  open: (folder) => openProgram(folder, 'jsonl'),
};

/** A Singer target. Only this language notices a program that ends in order and has stored nothing. */
export const target: DestinationType = {
  troubles: [...program.troubles, 'stores nothing and says nothing'],
  fields: (number) => ({ text: 'lead.all_details_one_liner', form: { value: number } }),
  open: (folder) => openProgram(folder, 'singer'),
};

async function openProgram(parent: string, speaks: Language): Promise<Destination> {
  const folder = join(parent, 'program');
  const file = join(folder, 'take-leads');
  const taken = join(folder, 'taken');
  mkdirSync(taken, { recursive: true });
  writeFileSync(file, PROGRAM);
  const behave = () => {
    writeFileSync(join(folder, 'manner'), 'takes\n');
    chmodSync(file, 0o755);
  };
  behave();
  return {
    options: {
      type: 'exec',
      speaks,
      command: [file],
      events: ['created', 'updated'],
      batch: { max: 50, wait: '300ms' },
      timeout: '2s',
    },
    misbehave: (trouble) => {
      if (trouble === 'is not executable') return chmodSync(file, 0o644);
      return writeFileSync(join(folder, 'manner'), `${MANNERS[trouble] ?? 'mute'}\n`);
    },
    behave,
    held: async () => linesIn(taken).flatMap((line) => heldAs(line) ?? []),
    faults: async () => changedRepeats(linesIn(taken)),
    close: async () => undefined,
  };
}

/** Returns the lines of the files, in the order in which these appeared. */
function linesIn(folder: string): string[] {
  const files = readdirSync(folder).map((name) => join(folder, name));
  const appeared = new Map(files.map((file) => [file, statSync(file, { bigint: true }).ctimeNs]));
  files.sort((a, b) => Number((appeared.get(a) ?? 0n) - (appeared.get(b) ?? 0n)));
  return files.flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean));
}

/** A line as one of the two languages has it, with or without a mapping. */
interface Line {
  readonly type?: string;
  readonly stream?: string;
  readonly id?: string;
  readonly source?: string;
  readonly lead?: string;
  readonly record?: Readonly<Record<string, unknown>>;
}

/** Returns the lead in a line; undefined if the line is about another thing. */
function heldAs(line: string): Held | undefined {
  const { type, stream, record, id = '', source = '', lead } = JSON.parse(line) as Line;
  const version = versionIn(line);
  if (type === 'RECORD' && stream === 'leads' && record) return heldRecord(line, record, version);
  if (type === 'RECORD' || type === 'SCHEMA' || type === 'STATE') return undefined;
  if (lead !== undefined) {
    const [ofSource = '', leadId = ''] = lead.split(':');
    return { source: ofSource, lead: leadId, version, under: id };
  }
  const [, raw = ''] = /"data":(.*),"source":"[^"]*","replay":(?:true|false)\}$/s.exec(line) ?? [];
  return { source, lead: /"id"\s*:\s*(\d+)/.exec(raw)?.[1] ?? '', version, under: id, raw };
}

function heldRecord(line: string, record: Readonly<Record<string, unknown>>, version: number): Held {
  const source = String(record['_leadsync_source'] ?? record['source']);
  // From the text, because JSON.parse rounds the ids above 2^53 that a misbehaving service lists.
  const [, lead = ''] = /"_leadsync_lead_id":(\d+)/.exec(line) ?? /"id":(\d+)/.exec(line) ?? [];
  return { source, lead, version, under: String(record['_leadsync_delivery_id']) };
}

/** Returns the ids of deliveries whose lead came again in another form. */
function changedRepeats(lines: readonly string[]): string[] {
  const first = new Map<string, string>();
  return lines.flatMap((line) => {
    const under = heldAs(line)?.under;
    if (under === undefined) return [];
    const known = first.get(under);
    first.set(under, known ?? line);
    return known === undefined || known === line ? [] : [`the id ${under} has several contents`];
  });
}
