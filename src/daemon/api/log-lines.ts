import { type LogFilter, LogLine } from '../../admin/contract/log.ts';
import { may } from '../../admin/contract/rights.ts';
import type { Logger } from '../../telemetry/logger.ts';

/** Messages for readers who may not see the configuration, in place of those that say where its values come from. */
const WITHOUT_ORIGINS: Readonly<Record<string, string>> = {
  'reload-failed': 'The configuration was not reloaded. An admin can see why.',
  'config-warning': 'There is a warning about the configuration. An admin can see it.',
};

/** Returns the lines that match the filter, in the given order, as the client of the request may read them. */
export function logLines(recent: ReturnType<Logger['recent']>, filter: LogFilter): readonly LogLine[] {
  const hidden = may('configuration') ? {} : WITHOUT_ORIGINS;
  return recent
    .map(({ at, source = null, sink = null, ...line }) => ({
      ...line,
      at: at.toISOString(),
      message: hidden[line.event] ?? line.message,
      source,
      sink,
    }))
    .filter((line) => isLogged(line, filter));
}

const LEVELS = LogLine.shape.level.options;

/** Whether a line matches every field of a filter. */
export function isLogged(line: LogLine, { level = 'trace', event, source, sink, text }: LogFilter): boolean {
  return (
    LEVELS.indexOf(line.level) >= LEVELS.indexOf(level) &&
    (event === undefined || line.event === event) &&
    (source === undefined || line.source === source) &&
    (sink === undefined || line.sink === sink) &&
    (text === undefined || line.message.toLowerCase().includes(text.toLowerCase()))
  );
}
