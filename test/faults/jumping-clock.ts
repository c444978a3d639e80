// Loaded into a leadsync process before anything else (`--import`): its wall clock then is off by what the file that
// CLOCK_OFFSET_FILE names says, in ms. Every thread reads it whenever it asks for the time, so that all of them see the clock set at
// the same moment, as on a machine. Only `Date` is touched: durations and timers are the machine's own, as they are when an
// operator sets the clock.
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
