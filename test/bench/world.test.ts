import { once } from 'node:events';
import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { FlakyReceiver } from '../../bench/world/flaky-receiver.ts';
import { Latencies } from '../../bench/world/latencies.ts';
import { Receiver } from '../../bench/world/receiver.ts';
import { RenderedListing } from '../../bench/world/rendered-listing.ts';
import { leadAt } from '../stub/generated-lead.ts';
import { until } from '../support/time/until.ts';

describe('the rendered listing', () => {
  const read = (listing: RenderedListing): unknown => JSON.parse(Buffer.concat(listing.body()).toString());
  const leads = (...ids: number[]) => ids.map((id) => leadAt(1, id));

  test("shows the stub's leads", () => {
    expect(read(new RenderedListing(5, 3))).toEqual(leads(5, 6, 7));
    expect(read(new RenderedListing(1, 2_000))).toHaveLength(2_000);
  });

  test('without leads is an empty array, and can grow', () => {
    const listing = new RenderedListing(1, 0);
    expect(read(listing)).toEqual([]);
    listing.grow(2);
    expect(read(listing)).toEqual(leads(1, 2));
  });

  test('grows at its end', () => {
    const listing = new RenderedListing(1, 2);
    listing.grow(1);
    expect(read(listing)).toEqual(leads(1, 2, 3));
    expect(listing).toMatchObject({ leads: 3, newest: 3, revision: 2 });
  });

  test('moves on by one lead, and returns the new one', () => {
    const listing = new RenderedListing(1, 2);
    expect(listing.slide()).toBe(3);
    expect(read(listing)).toEqual(leads(2, 3));
  });

  test('changes every lead whose id is a multiple of a number, and keeps that as it grows', () => {
    const listing = new RenderedListing(1, 5);
    const before = read(listing) as readonly unknown[];
    expect(listing.change(2)).toBe(2);
    listing.grow(1);
    const after = read(listing) as readonly { id: number }[];
    expect(after.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
    const changed = after.filter((lead, index) => !isDeepStrictEqual(lead, [...before, leadAt(1, 6)][index]));
    expect(changed.map(({ id }) => id)).toEqual([2, 4, 6]);
  });

  test('ends with its bracket as a separate chunk', () => {
    expect(new RenderedListing(1, 2).body().at(-1)?.toString()).toBe(']');
  });

  test('that was returned does not change later', () => {
    const listing = new RenderedListing(1, 1);
    const body = listing.body();
    listing.grow(1);
    expect(JSON.parse(Buffer.concat(body).toString())).toEqual(leads(1));
  });
});

describe('the receiver', () => {
  const post = (id: number) => {
    const body = `{"type":"lead.created","data":{"id":${id}}}`;
    return `POST / HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };

  /** Sends texts one after the other over one connection, and waits for `answers` answers. */
  async function send(texts: readonly string[], answers: number) {
    const arrived: number[] = [];
    await using receiver = new Receiver((id) => arrived.push(id));
    const socket = connect(await receiver.listen(), '127.0.0.1');
    let answered = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answered += text;
    });
    for (const text of texts) await new Promise((resolve) => socket.write(text, resolve));
    while (answered.split('204 No Content').length <= answers) await once(socket, 'data');
    socket.destroy();
    return { arrived, arrivals: receiver.arrivals };
  }

  test('counts requests and distinct leads', async () => {
    const { arrived, arrivals } = await send([post(1), post(2), post(2)], 3);
    expect(arrived).toEqual([1, 2, 2]);
    expect(arrivals).toMatchObject({ posts: 3, leads: 2 });
  });

  test('parses requests that arrive in pieces, and several at the same time', async () => {
    const all = post(1) + post(22) + post(333);
    const { arrived } = await send([all.slice(0, 20), all.slice(20, 75), all.slice(75)], 3);
    expect(arrived).toEqual([1, 22, 333]);
  });
});

describe('the flaky receiver', () => {
  type Behaviour = Parameters<FlakyReceiver['behave']>[0];

  /** Sends each lead so often, one request after the other, and returns the status of each answer. */
  async function answersTo(
    behaviour: Partial<Behaviour>,
    leads: readonly number[],
    times: number,
  ): Promise<{ statuses: number[][]; receiver: FlakyReceiver }> {
    await using receiver = new FlakyReceiver(() => undefined);
    const url = `http://127.0.0.1:${await receiver.listen()}/`;
    receiver.behave({ failPercent: 0, seed: 1, delayMs: [0, 0], ...behaviour });
    const statuses = await Promise.all(
      leads.map(async (id) => {
        const own: number[] = [];
        for (let time = 0; time < times; time += 1) {
          const { status } = await fetch(url, { method: 'POST', body: JSON.stringify({ data: { id } }) });
          own.push(status);
        }
        return own;
      }),
    );
    return { statuses, receiver };
  }

  const many = Array.from({ length: 100 }, (_, index) => index + 1);

  test('fails the configured share of requests', async () => {
    const { statuses } = await answersTo({ failPercent: 30 }, many, 4);
    const failed = statuses.flat().filter((status) => status === 503).length;
    expect(failed).toBeGreaterThan(80);
    expect(failed).toBeLessThan(160);
    expect((await answersTo({ failPercent: 100 }, [1], 3)).statuses.flat()).toEqual([503, 503, 503]);
    expect((await answersTo({ failPercent: 0 }, [1], 3)).statuses.flat()).toEqual([204, 204, 204]);
  });

  test('fails the same attempts of the same leads for every sender', async () => {
    const one = await answersTo({ failPercent: 30 }, many, 2);
    const other = await answersTo({ failPercent: 30 }, many.toReversed(), 2);
    expect(other.statuses.toReversed()).toEqual(one.statuses);
    expect((await answersTo({ failPercent: 30, seed: 2 }, many, 2)).statuses).not.toEqual(one.statuses);
  });

  test('distinguishes a lead that it accepted twice from two leads', async () => {
    const { receiver } = await answersTo({}, [1, 2], 2);
    expect(receiver.visits).toMatchObject({ requests: 4, accepted: 4, leads: 2, open: 0 });
    expect(receiver.acceptedAt(2)).toBeGreaterThan(receiver.visits.firstRequestAt ?? Number.NaN);
    expect(receiver.acceptedAt(3)).toBeUndefined();
  });

  test('counts concurrent requests', async () => {
    await using receiver = new FlakyReceiver(() => undefined);
    const url = `http://127.0.0.1:${await receiver.listen()}/`;
    receiver.behave({ failPercent: 0, seed: 1, delayMs: [5_000, 5_000] });
    for (const id of [1, 2, 3])
      fetch(url, { method: 'POST', body: JSON.stringify({ data: { id } }) }).catch(
        () => 'cut off at the end',
      );
    await until('all requests are open', () => receiver.visits.open === 3);
    expect(receiver.visits.mostOpen).toBe(3);
    expect((await answersTo({}, [1], 3)).receiver.visits.mostOpen).toBe(1);
  });
});

describe('latencies', () => {
  test('run from the first listing that had the lead to its arrival', async () => {
    const latencies = new Latencies();
    const both = [latencies.of(6), latencies.of(7)];
    latencies.listed(1, 5, 50);
    latencies.listed(2, 7, 100);
    latencies.listed(3, 8, 200);
    latencies.listed(1_000, 2_000, 300);
    latencies.arrived(6, 103);
    latencies.arrived(7, 104.5);
    expect(await Promise.all(both)).toEqual([3, 4.5]);
  });
});
