import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { isBuilt, packageRoot } from '../../../platform/process/package-root.ts';

/** Every file that a page loads. All are part of the installation, so pages work without internet access. */
const files = {
  'pages.css': asset('pages.css'),
  'theme.js': asset('theme.js'),
  'pages.js': asset('pages.js'),
  'chart.js': asset('chart.js'),
  'well.svg': asset('well.svg'),
  'warning.svg': asset('warning.svg'),
  'critical.svg': asset('critical.svg'),
  'htmx.js': import.meta.resolve('htmx.org/dist/htmx.min.js'),
  'uplot.js': import.meta.resolve('uplot/dist/uPlot.iife.min.js'),
  'uplot.css': import.meta.resolve('uplot/dist/uPlot.min.css'),
};

/** Name of an asset. `serveAssets` returns its address, which changes with its content. */
export type AssetName = keyof typeof files;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

interface Asset {
  readonly name: AssetName;
  /** Address that contains part of the content's hash, so that browsers can cache the asset for ever. */
  readonly address: string;
  readonly type: string;
  readonly body: Buffer;
}

/** Reads and serves every asset. Returns a function from name to address. @throws Error if an asset is missing from this installation */
export function serveAssets(app: FastifyInstance): (name: AssetName) => string {
  const assets = new Map(
    Object.entries(files).map(([name, url]) => [name, readAsset(name as AssetName, url)]),
  );
  for (const { address, type, body } of assets.values()) {
    app.get(address, (_request, reply) =>
      reply.type(type).header('cache-control', 'public, max-age=31536000, immutable').send(body),
    );
  }
  return (name) => assets.get(name)?.address ?? '';
}

function readAsset(name: AssetName, url: string): Asset {
  const body = readFileSync(new URL(url));
  const [stem = '', ending = ''] = name.split('.');
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 12);
  return { name, address: `/assets/${stem}-${hash}.${ending}`, type: TYPES[ending] ?? '', body };
}

/** Returns the URL of a file in the assets folder. */
export function asset(name: string): string {
  return pathToFileURL(join(packageRoot, isBuilt ? 'dist' : 'src', 'admin/assets', name)).href;
}
