import type { Chance } from '../../simulation/chance.ts';
import { type Deed, lengthOf, oneOf, type Spell, spells } from '../deed.ts';
import type { Operator } from '../operator.ts';

/** Draws the operator's commands during the run. */
export function drawOperator(chance: Chance, endMs: number, sinks: readonly string[]): Deed<Operator>[] {
  return spells(chance, endMs, [500, 2_500], [300, 4_000]).flatMap((spell) =>
    oneOf(chance, [replay, replay, retry, pause, resume, resume, resume, look])(
      chance,
      spell,
      oneOf(chance, sinks),
    ),
  );
}

function replay(chance: Chance, { fromMs: atMs }: Spell, sink: string): Deed<Operator>[] {
  const place = chance.random();
  return [{ atMs, text: `replays a lead to ${sink}`, act: (operator) => operator.replay(sink, place) }];
}

function retry(_: Chance, { fromMs: atMs }: Spell): Deed<Operator>[] {
  const args = ['retry', '--state', 'dead'];
  return [{ atMs, text: 'retries what is dead', act: (operator) => operator.run(...args) }];
}

function pause(_: Chance, spell: Spell, sink: string): Deed<Operator>[] {
  return [
    { atMs: spell.fromMs, text: `pauses ${sink} for ${lengthOf(spell)}`, act: (it) => it.run('pause', sink) },
    { atMs: spell.toMs, text: `resumes ${sink}`, act: (it) => it.run('resume', sink) },
  ];
}

function resume(_: Chance, { fromMs: atMs }: Spell, sink: string): Deed<Operator>[] {
  return [{ atMs, text: `resumes ${sink}`, act: (operator) => operator.run('resume', sink) }];
}

function look(chance: Chance, { fromMs: atMs }: Spell): Deed<Operator>[] {
  const args = oneOf(chance, [
    ['status'],
    ['status', '--json'],
    ['deliveries'],
    ['trace', '100007'],
    ['check'],
  ]);
  return [{ atMs, text: `leadsync ${args.join(' ')}`, act: (operator) => operator.run(...args) }];
}
