import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/time/until.ts';
import { processesOf } from './machine.ts';
import type { Form } from './mappings/form.ts';
import type { Answer } from './watched-receiver.ts';
import type { World } from './world.ts';

/** The mappings of the three parts, in order; each list is one change of the file. */
export interface LastChanges {
  readonly quick: readonly (readonly Form[])[];
  readonly unsteady: readonly (readonly Form[])[];
  readonly interrupted: readonly Form[];
}

/** Leads that make more batches than the rate of a sink permits within seconds. */
const MANY_LEADS = 1_000;
const LEADS_OF_A_ROUND = 25;
const CHANGED_LEADS = 10;
/** About as long as the first wait before a batch is attempted again. */
const ROUND_MS = 1_200;
const ANSWER_MS = 1_500;
/** Maximum time until leads of a running leadsync arrive, in ms. */
const ARRIVED_MS = 90_000;

/**
 * Changes mappings once more while everything else works, so that a mistake shows on any machine, whatever the troubles before have left of
 * the run: many reloads within a second; changes between the attempts of batches that were cut off or refused; and a change while leadsync
 * is killed in the middle of its attempts. Returns what could not be done.
 */
export async function changeOnceMore(
  world: World,
  { quick, unsteady, interrupted }: LastChanges,
): Promise<string[]> {
  try {
    await reloadQuickly(world, quick);
    await answerUnsteadily(world, unsteady);
    await interrupt(world, interrupted);
    return [];
  } catch (error) {
    return [`the last changes: ${error instanceof Error ? error.message : error}`];
  }
}

async function reloadQuickly({ scene, parts: { configuration } }: World, rounds: LastChanges['quick']) {
  const served = scene.served().length;
  scene.stub.addLeads(MANY_LEADS);
  await until('many leads are served', () => scene.served().length > served, ARRIVED_MS);
  for (const forms of rounds) {
    await change(configuration, forms);
  }
}

async function answerUnsteadily(world: World, rounds: LastChanges['unsteady']) {
  const { scene, parts } = world;
  for (const receiver of receiversOf(world)) receiver.answerAlways(unsteady());
  let files = 0;
  parts.bucket.answerAlways(({ method }) =>
    method === 'PUT' && ++files % 2 === 0 ? 'done and cut' : undefined,
  );
  for (const forms of rounds) {
    scene.stub.addLeads(LEADS_OF_A_ROUND);
    for (const id of scene.stub.served.ids().slice(-CHANGED_LEADS)) scene.stub.changeLead(id);
    await sleep(ROUND_MS);
    await change(parts.configuration, forms);
  }
  for (const receiver of receiversOf(world)) receiver.takeAll();
  parts.bucket.takeAll();
}

/** Kills leadsync while the split sinks wait for an answer, and changes the mappings while it is down. */
async function interrupt(world: World, forms: LastChanges['interrupted']) {
  const { scene, parts } = world;
  const { machines, configuration } = parts;
  const { even, odd } = parts['split receivers'];
  for (const receiver of receiversOf(world)) receiver.answerAlways(slowly);
  const sinceMs = performance.now();
  scene.stub.addLeads(LEADS_OF_A_ROUND);
  const waits = ({ requests }: typeof even) =>
    requests.some(({ atMs, endedMs }) => atMs > sinceMs && endedMs === undefined);
  await until('a split sink waits for an answer', () => waits(even) || waits(odd), ARRIVED_MS);
  const running = machines.flatMap(({ worker }) => (worker.isUp ? [worker] : []));
  await Promise.all(processesOf(machines).map((process) => process.end('SIGKILL')));
  configuration.map(forms);
  for (const receiver of receiversOf(world)) receiver.takeAll();
  for (const { daemon } of machines) daemon.start();
  for (const worker of running) worker.start();
}

/** Changes the file and has it applied now; if leadsync is too slow to answer, it applies the file by itself. */
async function change(configuration: World['parts']['configuration'], forms: readonly Form[]): Promise<void> {
  configuration.map(forms);
  await configuration.reload().catch(() => undefined);
}

function receiversOf({ parts }: World) {
  return [parts.receiver, ...Object.values(parts['split receivers'])];
}

/** Accepts half of the requests, refuses one in four, and accepts one in four and breaks its connection. */
function unsteady(): Answer {
  let requests = 0;
  return (request, res) => {
    requests += 1;
    if (requests % 4 === 1) res.writeHead(500).end();
    else if (requests % 4 === 3) {
      request.status = 204;
      res.socket?.destroy();
    } else res.writeHead(204).end();
  };
}

async function slowly(...[, res]: Parameters<Answer>): Promise<void> {
  await sleep(ANSWER_MS);
  res.writeHead(204).end();
}
