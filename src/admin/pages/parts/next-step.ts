import type { Overview } from '../../contract/overview.ts';
import { may, type OperationName } from '../../contract/rights.ts';

/** Text that replaces the next step of a problem if the page has buttons for it. Most buttons need none. */
const WITH_BUTTONS: Readonly<Record<string, string>> = {
  deliveries_dead: 'See why, and fix the cause before you retry.',
};

const POLL = ['poll', 'An operator can poll the source now.'] as const;

/** What a reader cannot do about a problem: the operation of the button, and who can do it. */
const WITHOUT_RIGHT: Readonly<Record<string, readonly [operation: OperationName, text: string]>> = {
  sink_held: ['resume', 'An operator can send the next probe now.'],
  sink_paused: ['resume', 'Its leads wait until an operator resumes it.'],
  deliveries_dead: ['retry', 'Once the cause is fixed, an operator can retry or discard them.'],
  leads_retried: ['retry', 'An operator can retry them now.'],
  never_polled: POLL,
  poll_late: POLL,
  poll_failed: POLL,
  source_refused: POLL,
  config_stale: ['configuration', 'An admin can see the faults under Configuration.'],
};

/** A command of leadsync in a next step, in the form that works in this installation. */
const COMMAND = /`[^`]*\bleadsync [^`]*`/;

/**
 * Returns the next step of a problem for the reader, in the syntax of `formattedText`. `hasButtons` says whether the page has links and buttons that
 * cover the whole next step. A reader without the right to use the buttons learns who has it.
 */
export function nextStepOf({ code, page_step }: Overview['problems'][number], hasButtons: boolean): string {
  const [operation, text] = WITHOUT_RIGHT[code] ?? [];
  const others = operation === undefined || may(operation) ? undefined : text;
  if (hasButtons) return others ?? WITH_BUTTONS[code] ?? '';
  const commands = !may('pause') && COMMAND.test(page_step) ? 'An operator can run the command.' : undefined;
  return [page_step, others, commands].filter((part) => part !== undefined).join(' ');
}
