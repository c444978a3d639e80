// Loaded with `--import` before a program: every clock and timer of the process and of its threads then runs FAST_TIMES as fast as real
// time. For a program that is observed from outside; a test in the same process uses FastClock. In JavaScript, because every thread
// that loads a module in TypeScript keeps 11 MB for Node's compiler.
import { createRequire, syncBuiltinESMExports } from 'node:module';

const times = Number(process.env['FAST_TIMES'] ?? 1);
const require = createRequire(import.meta.url);
const RealDate = Date;
const realNow = Date.now;
// All threads of a process agree on the time, because they scale from the start of the process.
const start = performance.timeOrigin;
const realMonotonic = performance.now.bind(performance);

const now = () => Math.round(start + (realNow() - start) * times);
const scaled = (ms) => (ms === undefined ? ms : ms / times);

class FastDate extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [now()] : args));
  }

  static now() {
    return now();
  }
}

globalThis.Date = FastDate;
performance.now = () => realMonotonic() * times;
for (const timers of [require('node:timers'), globalThis])
  for (const name of ['setTimeout', 'setInterval']) {
    const real = timers[name];
    const fast = (work, ms, ...args) => real(work, scaled(ms), ...args);
    timers[name] = Object.assign(fast, real);
  }
const promises = require('node:timers/promises');
const sleep = promises.setTimeout;
promises.setTimeout = (ms, ...rest) => sleep(scaled(ms), ...rest);
syncBuiltinESMExports();
