import { printLength, printSpan, sentence } from '../../platform/text/human-readable.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

/** Maximum number of configuration faults in one log line. */
const FAULTS_SHOWN = 3;

/** Events about the process itself: start, stop, configuration, clock, and the version that runs. */
export const processEvents = {
  started: eventKind<{
    version: string;
    carrier: 'in-process' | 'bullmq';
    sources: number;
    sinks: number;
    dataDir: string;
    where: string;
  }>({
    level: 'info',
    fields: ['version', 'carrier', 'sources', 'sinks', 'dataDir', 'where'],
    message: ({ version, carrier, sources, sinks, dataDir, where }) =>
      `leadsync ${version} has started: ${count(sources, 'source')}, ${count(sinks, 'sink')}, carrier ${carrier}, data in ${dataDir}${where === dataDir ? '' : `, ledger in ${where}`}.`,
  }),

  /**
   * The ledger is missing, and sinks or Redis, which could show whether there was one before, do not answer. `reasons` has one sentence for each sink
   * or Redis that does not answer; `where` is the place of the ledger.
   */
  'start-waiting': eventKind<{
    reasons: readonly string[];
    dataDir: string;
    where: string;
    patienceMs: number;
  }>({
    level: 'warn',
    fields: ['reasons', 'dataDir', 'where', 'patienceMs'],
    message: ({ reasons, where, patienceMs }) =>
      `There is no ledger in ${where}, and leadsync does not start before it knows whether one existed: ${reasons.join(' ')} leadsync asks again for up to ${printLength(patienceMs)}. It starts if all of them answer and none shows a trace of a ledger; otherwise it exits. If this is a new installation and you do not want to wait, stop leadsync and create the ledger with \`leadsync ledger accept\`.`,
  }),

  stopping: eventKind<{ signal: string; graceMs: number }>({
    level: 'info',
    fields: ['signal', 'graceMs'],
    message: ({ signal, graceMs }) =>
      graceMs > 0
        ? `Stopping on ${signal}; work in progress has ${printSpan(graceMs)} to finish.`
        : `${signal}: stopping.`,
  }),

  stopped: eventKind<{ clean: boolean }>({
    level: ({ clean }) => (clean ? 'info' : 'warn'),
    throttled: false,
    fields: ['clean'],
    message: ({ clean }) =>
      clean ? 'Stopped.' : 'Stopped before all work in progress had finished; the next start continues it.',
  }),

  /** Changes of the configuration since the last run. */
  configured: eventKind<{ changes: readonly string[] }>({
    level: 'info',
    fields: ['changes'],
    message: ({ changes }) => `Since the last run: ${changes.join('; ')}.`,
  }),

  /** `restart` lists the changed options that take effect only at the next restart. */
  reloaded: eventKind<{
    trigger: string;
    generation: number;
    changes: readonly string[];
    restart: readonly string[];
  }>({
    level: 'info',
    fields: ['trigger', 'generation', 'changes', 'restart'],
    message: ({ trigger, generation, changes, restart }) => {
      const what = changes.length > 0 ? `${changes.join('; ')}.` : 'Nothing has changed.';
      const later = restart.length > 0 ? ` A restart is needed to apply ${restart.join(', ')}.` : '';
      return `The configuration was reloaded (${trigger}), generation ${generation}. ${what}${later}`;
    },
  }),

  /** The last valid configuration stays in force. */
  'reload-failed': eventKind<{
    trigger: string;
    generation: number;
    faults: readonly string[];
    /** Why a valid file could not be applied. */
    reason?: string | undefined;
  }>({
    level: 'error',
    fields: ['trigger', 'generation', 'faults', 'reason'],
    message: ({ trigger, generation, faults, reason }) => {
      const kept = `The configuration was not reloaded (${trigger}); generation ${generation} stays in force.`;
      if (reason !== undefined) return `${kept} The file is valid, but it could not be applied: ${reason}`;
      const left = faults.length - FAULTS_SHOWN;
      const more = left > 0 ? ` And ${left} more.` : '';
      return `${kept} ${faults.slice(0, FAULTS_SHOWN).join('. ')}.${more} \`leadsync validate\` shows every fault.`;
    },
  }),

  /** The configuration is valid but possibly not what the operator intends. `warning` is a sentence that includes the place in the file. */
  'config-warning': eventKind<{ warning: string }>({
    level: 'warn',
    fields: ['warning'],
    message: ({ warning }) =>
      `The configuration is valid, with a warning: ${sentence(warning)} \`leadsync validate\` shows it as well.`,
  }),

  'clock-set-back': eventKind<{ byMs: number; moved: number }>({
    level: 'warn',
    fields: ['byMs', 'moved'],
    message: ({ byMs, moved }) =>
      `The clock was set back by ${printSpan(byMs)}. leadsync made ${count(moved, 'delivery', 'deliveries')} due earlier by the same amount, so that they do not wait longer.`,
  }),

  /** The program on disk was replaced or removed. */
  'program-replaced': eventKind({
    level: 'warn',
    fields: [],
    message: () =>
      'While this leadsync was running, its program on disk was replaced or removed. Restart leadsync, because this process can no longer load parts that it has not loaded yet, such as a new type of sink. Until then it delivers what it can, and nothing is lost.',
  }),

  /** Reported at the first failure, and not again until traces can be sent. The traces in between are dropped. */
  'traces-unsent': eventKind<{ reason: string }>({
    level: 'warn',
    fields: ['reason'],
    message: ({ reason }) =>
      `Traces cannot be sent and are dropped. ${reason} Check OTEL_EXPORTER_OTLP_ENDPOINT.`,
  }),
};
