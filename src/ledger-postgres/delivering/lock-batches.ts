/** Returns the condition of an UPDATE that changes the batches `b` that meet `condition`, and locks them in the order of their numbers first. */
export function inOrder(condition: string): string {
  return `batch_no = ANY (ARRAY(SELECT b.batch_no FROM _batches b WHERE ${condition} ORDER BY b.batch_no FOR UPDATE))`;
}

/** Maximum number of batches of which one transaction counts the deliveries. */
const MAX_BATCHES = 100;

/**
 * Returns a query for the numbers of batches `b` that meet a condition, lowest first. It locks batches in this order, and ends with the batch at
 * which the sum of their deliveries reaches `limit`, so it returns at least one batch if any meets the condition.
 */
export function someBatches(condition: string, limit: string): string {
  return `SELECT n.batch_no FROM (SELECT l.batch_no, sum(l.deliveries) OVER (ORDER BY l.batch_no) - l.deliveries AS before FROM
     (SELECT b.batch_no, (SELECT count(*) FROM (SELECT 1 FROM _deliveries d WHERE d.batch_no = b.batch_no LIMIT ${limit}) d) AS deliveries
      FROM _batches b WHERE ${condition} ORDER BY b.batch_no LIMIT ${MAX_BATCHES} FOR UPDATE OF b) l) n
   WHERE n.before < ${limit} ORDER BY n.batch_no`;
}
