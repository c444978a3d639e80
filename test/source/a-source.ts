import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import type { ListingMarker } from '../../src/leads/listing-marker.ts';
import { DocumentFolder } from '../../src/platform/files/document-folder.ts';
import type { DocumentStore } from '../../src/platform/files/document-store.ts';
import { disk, type Files } from '../../src/platform/files/file-system.ts';
import { Secret } from '../../src/platform/options/secret.ts';
import { type Clock, systemClock } from '../../src/platform/time/clock.ts';
import { sourceOptions } from '../../src/source/contract/options.ts';
import { type Listing, type Source, SourceError } from '../../src/source/contract/source.ts';
import { type HttpSource, openSource } from '../../src/source/http-source.ts';
import type { Event } from '../../src/telemetry/events.ts';
import { type Stub, type StubOptions, startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';

export interface SourceSetting {
  readonly dataDir?: string;
  readonly clock?: Clock;
  readonly files?: Files;
  /** Where its tokens are. Absent: in `dataDir`. */
  readonly tokens?: DocumentStore;
  readonly tokenKey?: string | undefined;
  readonly name?: string;
  /** Whether to open the source as `leadsync check` does. */
  readonly trial?: boolean;
  /** Options as in the YAML, added to the address and the client. */
  readonly options?: Record<string, unknown>;
}

/** Opens a source and collects its events; it closes when the test ends. */
export function aSource(
  service: { readonly url: string; readonly clientId: string; readonly clientSecret: string },
  {
    dataDir = tempDir(),
    clock = systemClock,
    files = disk,
    tokens = new DocumentFolder(files, join(dataDir, 'tokens')),
    tokenKey,
    name = 'main',
    trial = false,
    options,
  }: SourceSetting = {},
): { source: HttpSource; events: Event[]; dataDir: string } {
  const events: Event[] = [];
  const parsed = sourceOptions.parse({
    base_url: service.url,
    client_id: service.clientId,
    client_secret: service.clientSecret,
    timeout: '2s',
    ...options,
  });
  const source = openSource(name, parsed, {
    clock,
    random: () => 0.5,
    tokens,
    tokenKey: tokenKey === undefined ? undefined : new Secret(tokenKey),
    emit: (event) => events.push(event),
    trial,
  });
  onTestFinished(() => source.close());
  return { source, events, dataDir };
}

/** Starts a service that closes when the test ends. */
export async function aStub(options?: StubOptions): Promise<Stub> {
  const stub = await startStub(options);
  onTestFinished(() => stub.close());
  return stub;
}

/** Requests the listing without reading it. */
export function ask(source: Source, previous?: ListingMarker): Promise<Listing> {
  return source.list(previous, new AbortController().signal);
}

export interface WhatWasRead {
  readonly kind: Listing['kind'];
  readonly items: readonly ListedItem[];
  readonly ids: readonly number[];
  readonly mark: ListingMarker | undefined;
  readonly bytes: number;
}

/** Reads the listing to its end. */
export async function read(source: Source, previous?: ListingMarker): Promise<WhatWasRead> {
  const listing = await ask(source, previous);
  if (listing.kind === 'unchanged') {
    return { kind: 'unchanged', items: [], ids: [], mark: listing.mark, bytes: listing.bytes };
  }
  const items: ListedItem[] = [];
  for await (const block of listing.blocks) items.push(...block.elements().map((one) => one.read()));
  return { kind: 'changed', items, ids: items.map(({ id }) => Number(id)), ...listing.end() };
}

/** Returns the error of reading, and the leads that came before it. */
export async function failureOf(
  source: Source,
  previous?: ListingMarker,
): Promise<{ error: SourceError; items: readonly ListedItem[] }> {
  const items: ListedItem[] = [];
  try {
    const listing = await ask(source, previous);
    if (listing.kind === 'changed')
      for await (const block of listing.blocks) items.push(...block.elements().map((one) => one.read()));
  } catch (error) {
    if (error instanceof SourceError) return { error, items };
    throw error;
  }
  throw new Error('the listing was read without a failure');
}
