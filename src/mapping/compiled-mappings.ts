import type { Secret } from '../platform/options/secret.ts';
import { Mapping } from './mapping.ts';
import type { MappingDefinition } from './mapping-definition.ts';

/** Maximum number of compiled mappings to keep. Each sink needs one, and another one while deliveries of a former mapping are pending. */
const KEPT = 100;

/** Compiles mappings from the text that the ledger stores, and caches them. */
export class CompiledMappings {
  readonly #clientKey: () => Secret | undefined;
  readonly #byText = new Map<string, Mapping | undefined>();
  /** The key with which the mappings were compiled. */
  #compiledWith: Secret | undefined;

  /** `clientKey` returns the current key of the function `hash`. */
  constructor(clientKey: () => Secret | undefined) {
    this.#clientKey = clientKey;
  }

  /** Returns the compiled mapping; undefined if this version of leadsync cannot compile it. */
  get(text: string): Mapping | undefined {
    const key = this.#clientKey();
    if (key !== this.#compiledWith || this.#byText.size >= KEPT) this.#byText.clear();
    this.#compiledWith = key;
    if (!this.#byText.has(text)) this.#byText.set(text, compile(text, key));
    return this.#byText.get(text);
  }
}

function compile(text: string, key: Secret | undefined): Mapping | undefined {
  try {
    const compiled = Mapping.compile(JSON.parse(text) as MappingDefinition, key);
    return compiled instanceof Mapping ? compiled : undefined;
  } catch {
    return undefined; // not JSON: the text of a lost mapping
  }
}
