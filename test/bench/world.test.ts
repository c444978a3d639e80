import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { Latencies } from '../../bench/world/latencies.ts';
import { Receiver } from '../../bench/world/receiver.ts';
import { RenderedListing } from '../../bench/world/rendered-listing.ts';
import { leadAt } from '../stub/generated-lead.ts';

describe('the rendered listing', () => {
  const read = (listing: RenderedListing): unknown => JSON.parse(Buffer.concat(listing.body()).toString());
  const leads = (...ids: number[]) => ids.map((id) => leadAt(1, id));

  test("shows the stub's leads", () => {
    expect(read(new RenderedListing(5, 3))).toEqual(leads(5, 6, 7));
    expect(read(new RenderedListing(1, 2_000))).toHaveLength(2_000);
  });

  test('of nothing is an empty array, and can grow', () => {
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

  test('slides by a lead, and tells the new one', () => {
    const listing = new RenderedListing(1, 2);
    expect(listing.slide()).toBe(3);
    expect(read(listing)).toEqual(leads(2, 3));
  });

  test('ends with its bracket as a piece of its own', () => {
    expect(new RenderedListing(1, 2).body().at(-1)?.toString()).toBe(']');
  });

  test('that was handed out does not change with what is shown later', () => {
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

  test('counts requests and different leads', async () => {
    const { arrived, arrivals } = await send([post(1), post(2), post(2)], 3);
    expect(arrived).toEqual([1, 2, 2]);
    expect(arrivals).toMatchObject({ posts: 3, leads: 2 });
  });

  test('understands requests that come in pieces, and several at once', async () => {
    const all = post(1) + post(22) + post(333);
    const { arrived } = await send([all.slice(0, 20), all.slice(20, 75), all.slice(75)], 3);
    expect(arrived).toEqual([1, 22, 333]);
  });
});

describe('latencies', () => {
  test('run from the first listing that had the lead to its arrival', async () => {
    const latencies = new Latencies();
    const latency = latencies.of(7);
    latencies.listed(6, 50);
    latencies.listed(7, 100);
    latencies.listed(7, 200);
    latencies.arrived(6, 103);
    latencies.arrived(7, 104.5);
    expect(await latency).toBe(4.5);
  });
});
