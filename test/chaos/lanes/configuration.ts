import type { Chance } from '../../simulation/chance.ts';
import { SINKS } from '../../support/scene/scene.ts';
import type { Configuration } from '../configuration.ts';
import { type Deed, oneOf, spells } from '../deed.ts';

/** Draws the changes of mappings: a sink gets another one, or none. */
export function drawConfiguration(chance: Chance, endMs: number): Deed<Configuration>[] {
  return spells(chance, endMs, [2_000, 8_000], [0, 0]).map(({ fromMs: atMs }, index) => {
    const sink = oneOf(chance, SINKS);
    const form = chance.oneIn(4) ? undefined : index + 1;
    const text = form === undefined ? `${sink} gets leads as received` : `${sink} gets mapping ${form}`;
    return { atMs, text, act: (configuration) => configuration.map(sink, form) };
  });
}
