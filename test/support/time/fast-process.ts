// Loaded with `--import` before a program: every clock and timer of the process and of its threads then runs FAST_TIMES as fast as real
// time. For a program that is observed from outside; a test in the same process uses FastClock.
import { createRequire, syncBuiltinESMExports } from 'node:module';

type Timed = (work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => unknown;

const times = Number(process.env['FAST_TIMES'] ?? 1);
const require = createRequire(import.meta.url);
const RealDate = Date;
const realNow = Date.now;
// All threads of a process agree on the time, because they scale from the start of the process.
const start = performance.timeOrigin;
const realMonotonic = performance.now.bind(performance);

const now = () => Math.round(start + (realNow() - start) * times);
const scaled = (ms: number | undefined) => (ms === undefined ? ms : ms / times);

class FastDate extends RealDate {
  constructor(...args: unknown[]) {
    // @ts-expect-error the constructor of Date has overloads, which a spread does not match
    super(...(args.length === 0 ? [now()] : args));
  }

  static override now(): number {
    return now();
  }
}

globalThis.Date = FastDate as DateConstructor;
performance.now = () => realMonotonic() * times;
for (const timers of [require('node:timers'), globalThis] as Record<'setTimeout' | 'setInterval', Timed>[])
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const real = timers[name];
    const fast: Timed = (work, ms, ...args) => real(work, scaled(ms), ...args);
    timers[name] = Object.assign(fast, real);
  }
const promises = require('node:timers/promises') as {
  setTimeout: (ms?: number, ...rest: unknown[]) => Promise<unknown>;
};
const sleep = promises.setTimeout;
promises.setTimeout = (ms, ...rest) => sleep(scaled(ms), ...rest);
syncBuiltinESMExports();
