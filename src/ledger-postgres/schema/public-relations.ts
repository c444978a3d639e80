import type { ClientBase } from 'pg';
import { relations } from '../../catalog/catalog.ts';
import { commentOf } from '../../catalog/relation.ts';
import { type Comment, staleComments } from '../../postgres/comments.ts';
import { publicViews } from './views.ts';

/** The comments on every public view and its columns. */
const COMMENTS: readonly Comment[] = relations.flatMap((relation) => [
  { what: 'VIEW', name: relation.name, text: commentOf(relation) },
  ...relation.columns.map(
    ({ name, means }): Comment => ({ what: 'COLUMN', name: `${relation.name}.${name}`, text: means }),
  ),
]);

/** Creates the public views, or replaces those of an earlier version in place, which keeps the rights that were granted on them. */
export async function writeViews(client: ClientBase): Promise<void> {
  await client.query(publicViews);
}

/** Writes those of the comments that differ from this version's, which may change without a migration. */
export async function refreshComments(client: ClientBase, schema: string): Promise<void> {
  const stale = await staleComments(client, schema, COMMENTS);
  if (stale.length > 0) await client.query(stale.join(';\n'));
}
