import { describe, type TestContext, test } from 'vitest';
import { type CarrierName, carriers } from '../support/scene/scene.ts';

/** `npm test` sets this: it runs each fault over one carrier, by turns. */
const BY_TURNS = process.env['LEADSYNC_TEST_CARRIERS'] === 'by-turns';

type DefineTest = (name: string, run: (context: TestContext) => Promise<void>) => void;

/** Returns the carriers of one test: all of them, or in a run by turns the one whose turn it is. */
export function carriersOf(turn: number): readonly CarrierName[] {
  return BY_TURNS ? carriers.slice(turn % carriers.length, (turn % carriers.length) + 1) : carriers;
}

/** Defines a block of tests once for each carrier; in a run by turns, each of its tests belongs to one of them. */
export function overCarriers(name: string, define: (carrier: CarrierName, test: DefineTest) => void): void {
  for (const carrier of carriers) {
    const own: Parameters<DefineTest>[] = [];
    let turn = 0;
    define(carrier, (title, run) => {
      if (carriersOf(turn).includes(carrier)) own.push([title, run]);
      turn += 1;
    });
    // A block without tests would count as failed.
    if (own.length > 0)
      describe(name.replace('%s', carrier), () => {
        for (const [title, run] of own) test(title, run);
      });
  }
}
