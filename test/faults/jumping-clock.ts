// Loaded into a leadsync process before anything else (`--import`). Shifts its wall clock by the ms in the file that CLOCK_OFFSET_FILE
// names. Every thread reads the file whenever it reads the time, so that all of them see the clock change at the same moment, as on a
// machine. Only `Date` changes: durations and timers stay the machine's own, as when an operator sets the clock.
import { readFileSync } from 'node:fs';

const file = process.env['CLOCK_OFFSET_FILE'] ?? '';
const RealDate = Date;

const now = () => RealDate.now() + Number(readFileSync(file, 'utf8'));

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
});
