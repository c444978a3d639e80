// Loaded into a leadsync process before anything else (`--import`): its wall clock then is off by what the file that
// CLOCK_OFFSET_FILE names says, in ms, read anew many times a second. Only `Date` is touched: durations and timers are
// the machine's own, as they are when an operator sets the clock.
import { readFileSync } from 'node:fs';

const READ_EVERY_MS = 50;
const file = process.env['CLOCK_OFFSET_FILE'] ?? '';
const RealDate = Date;
let offsetMs = 0;

const now = () => RealDate.now() + offsetMs;

function readOffset(): void {
  offsetMs = Number(readFileSync(file, 'utf8'));
}

readOffset();
setInterval(readOffset, READ_EVERY_MS).unref();

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
});
