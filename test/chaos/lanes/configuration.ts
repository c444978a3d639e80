import type { Chance } from '../../simulation/chance.ts';
import type { Configuration } from '../configuration.ts';
import { type Deed, spells } from '../deed.ts';
import type { LastChanges } from '../last-changes.ts';
import { type Form, MAPPED } from '../mappings/form.ts';

/** Sinks whose mappings change together: a lead that leaves one of a pair goes to the other. */
const GROUPS = ['crm', 'drop', 'warehouse', 'bucket', 'split', 'split'] as const;
/** Sinks that get every lead. */
const WHOLE = ['crm', 'drop', 'warehouse', 'bucket'] as const;

/** The mappings of the split sinks at the start of a run. */
export const FIRST_SPLIT: readonly Form[] = splitAt(1, 0);

/** The mappings of all sinks at the start of a run. */
export const FIRST_FORMS: readonly Form[] = [
  ...WHOLE.map((sink) => ({ ...formOf(sink, 1), plain: true })),
  ...FIRST_SPLIT,
];

/** Draws the changes of mappings. Some are applied on request; the others wait until leadsync notices that the file has changed. */
export function drawConfiguration(chance: Chance, endMs: number): Deed<Configuration>[] {
  return spells(chance, endMs, [400, 2_500], [0, 0]).map(({ fromMs: atMs }, index) => {
    const groups = new Set(chance.some(GROUPS, chance.between(1, 4)));
    const forms = [...groups].flatMap((group) => drawForms(chance, group, index + 2));
    const isRequested = !chance.oneIn(3);
    const act = async (configuration: Configuration) => {
      configuration.map(forms);
      if (isRequested) await configuration.reload();
    };
    return { atMs, text: `${forms.map(describe).join(', ')}${isRequested ? ', by request' : ''}`, act };
  });
}

/** Draws the changes after the troubles, and the mappings that all sinks have in the end. */
export function drawLastForms(
  chance: Chance,
  seconds: number,
): { changes: LastChanges; last: readonly Form[] } {
  // Above every number of the run.
  let round = seconds * 10;
  const all = () => {
    round += 1;
    return [...WHOLE.map((sink) => formOf(sink, round)), ...splitAt(round, chance.oneIn(2) ? 1 : 0)];
  };
  const times = (count: number) => Array.from({ length: count }, all);
  return { changes: { quick: times(8), unsteady: times(6), interrupted: all() }, last: all() };
}

function drawForms(chance: Chance, group: (typeof GROUPS)[number], round: number): readonly Form[] {
  if (group === 'split') return splitAt(round, chance.oneIn(2) ? 1 : 0);
  return [{ ...formOf(group, round), plain: chance.oneIn(8) }];
}

function splitAt(round: number, ofEven: 0 | 1): readonly Form[] {
  return [
    { ...formOf('even', round), parity: ofEven },
    { ...formOf('odd', round), parity: ofEven === 0 ? 1 : 0 },
  ];
}

/** Numbers the mappings of a run: those of one round are consecutive. */
function formOf(sink: Form['sink'], round: number): Form {
  return { sink, number: round * 10 + MAPPED.indexOf(sink) };
}

function describe({ sink, number, plain, parity }: Form): string {
  if (plain) return `${sink} gets leads as received`;
  return `${sink} gets mapping ${number}${parity === undefined ? '' : ` of the ${parity === 0 ? 'even' : 'odd'} leads`}`;
}
