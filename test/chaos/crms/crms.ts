import type { OtherSink, Scene } from '../../support/scene/scene.ts';
import type { Configuration } from '../configuration.ts';
import { type Crm, repeated } from './crm.ts';
import { openHubSpot } from './hubspot.ts';
import { openPipedrive } from './pipedrive.ts';
import { openSalesforce } from './salesforce.ts';

/** Starts an account of each type, by the name of the sink. */
const OPENERS = { hubspot: openHubSpot, salesforce: openSalesforce, pipedrive: openPipedrive } as const;
export type CrmName = keyof typeof OPENERS;
/** The names of the sinks. */
export const CRMS: readonly CrmName[] = ['hubspot', 'salesforce', 'pipedrive'];

/** Number of broken promises of one kind that are listed. */
const SHOWN = 10;
/** Long enough for every trouble of a run, so that only leads that a destination refuses die. */
const RETRY = { schedule: Array.from({ length: 100 }, () => '1s') };

/** Returns the options of a sink that gives no lead up. */
export function patient(options: OtherSink['options']): OtherSink['options'] {
  return { timeout: '3s', retry: RETRY, ...options };
}

/** The CRMs of a run. */
export class Crms {
  readonly #crms: readonly Crm[];
  #configuration: Configuration | undefined;

  private constructor(crms: readonly Crm[]) {
    this.#crms = crms;
  }

  static async open(names: readonly CrmName[]): Promise<Crms> {
    return new Crms(await Promise.all(names.map((name) => OPENERS[name]())));
  }

  /** The options of the sinks, by name. */
  get sinks(): Readonly<Record<string, OtherSink>> {
    return Object.fromEntries(
      this.#crms.map(({ sink, options, oneIn }, index) => [
        sink,
        { options: { ...patient(options), where: `lead.id % ${oneIn} == ${index}` } },
      ]),
    );
  }

  /** Makes in the accounts what they lack. */
  async setUp(scene: Scene, configuration: Configuration): Promise<void> {
    this.#configuration = configuration;
    for (const { sink } of this.#crms) {
      const { code, stderr } = await scene.run('setup', sink, '--yes');
      if (code !== 0) throw new Error(`leadsync setup ${sink} ended with ${code}: ${stderr}`);
    }
  }

  /** The troubles of a CRM, in words. */
  misbehave(sink: string, trouble: string): void {
    this.#named(sink).misbehave(trouble);
  }

  /** Gives a CRM's sink another mapping. leadsync notices it itself. */
  map(sink: string, round: number): void {
    this.#configuration?.change(sink, {
      fields: { [this.#named(sink).textField]: { value: `Form ${round}` } },
    });
  }

  takeAll(): void {
    for (const crm of this.#crms) crm.behave();
  }

  /** Returns what is lost, twice or not linked, of the leads that the services listed. A CRM may hold those in `besides` or not. */
  faults(served: ReturnType<Scene['served']>, besides: ReadonlySet<string>): string[] {
    return this.#crms.flatMap(({ sink, oneIn, held }, index) => {
      const wanted = served.filter(({ lead }) => BigInt(lead) % BigInt(oneIn) === BigInt(index));
      const { keys, faults } = held();
      const there = new Set(keys);
      const asked = new Set(wanted.map(({ source, lead }) => `${source}:${lead}`));
      return [
        ...shortened(sink, 'lost', [...asked.difference(there)]),
        ...shortened(sink, 'there, although `where` leaves it out', [
          ...there.difference(asked).difference(besides),
        ]),
        ...shortened(sink, 'there twice', repeated(keys)),
        ...faults.slice(0, SHOWN).map((fault) => `${sink}: ${fault}`),
      ];
    });
  }

  /** Returns how many leads each CRM holds. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#crms.map(({ sink, held }) => [sink, held().keys.length]));
  }

  async close(): Promise<void> {
    await Promise.all(this.#crms.map((crm) => crm.close()));
  }

  #named(sink: string): Crm {
    const found = this.#crms.find((crm) => crm.sink === sink);
    if (!found) throw new Error(`there is no CRM ${sink}`);
    return found;
  }
}

function shortened(sink: string, what: string, keys: readonly string[]): string[] {
  const more = keys.length > SHOWN ? [`${sink}: ${keys.length} leads in all are ${what}`] : [];
  return [...keys.slice(0, SHOWN).map((key) => `${sink}: the lead ${key} is ${what}`), ...more];
}
