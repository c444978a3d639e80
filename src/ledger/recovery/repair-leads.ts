import type Database from 'better-sqlite3';

/** The text of a version whose content was removed or lost. */
const EMPTY = "json_object('id', id)";

/**
 * Restores unreadable versions, without their text, if two other places in the file agree on them. Derives every lead from its versions.
 * Erased leads stay erased. Returns the number of restored versions, whose numbers the table `lost_texts` then contains.
 */
export function repairLeads(db: Database.Database, now: number): number {
  db.exec('CREATE TEMP TABLE lost_texts (version_no INTEGER PRIMARY KEY)');
  for (const sql of [FROM_INDEXES, FROM_LEADS]) {
    const found = db.prepare<[{ now: number }], bigint>(sql).pluck().safeIntegers().all({ now });
    const note = db.prepare<[bigint]>('INSERT INTO lost_texts VALUES (?)');
    for (const versionNo of found) note.run(versionNo);
  }
  const lost = db.prepare<[], number>('SELECT count(*) FROM lost_texts').pluck().get() ?? 0;
  db.exec(ERASED);
  db.exec('DELETE FROM _leads');
  db.exec(LEADS);
  db.exec(EMPTY_ERASED);
  db.exec(SOURCES);
  return lost;
}

/** The times of an unreadable version, from its deliveries or the other versions of its lead. */
const times = (alias: string) => `
  coalesce((SELECT min(owed_at) FROM _deliveries d WHERE d.version_no = ${alias}.version_no),
    (SELECT max(valid_from) FROM _versions w WHERE w.source = ${alias}.source AND w.id = ${alias}.id), :now),
  coalesce((SELECT min(first_seen_at) FROM _versions w WHERE w.source = ${alias}.source AND w.id = ${alias}.id),
    (SELECT min(owed_at) FROM _deliveries d WHERE d.version_no = ${alias}.version_no), :now)`;

const COLUMNS = 'version_no, source, id, version, poll_id, valid_from, first_seen_at, hash, raw';

/** Restores versions that are in the index of versions by lead and in one more place. */
const FROM_INDEXES = `
  INSERT OR IGNORE INTO _versions (${COLUMNS})
  SELECT version_no, source, id, version, 0, ${times('s')},
    coalesce((SELECT hash FROM indexed_leads l WHERE l.source = s.source AND l.id = s.id AND l.version_no = s.version_no), ''), ${EMPTY}
  FROM indexed_versions s
  WHERE version_no > 0 AND version > 0 AND version_no NOT IN (SELECT version_no FROM _versions)
    AND (EXISTS (SELECT 1 FROM indexed_leads l WHERE l.source = s.source AND l.id = s.id
        AND (l.version > s.version OR l.version = s.version AND l.version_no = s.version_no))
      OR EXISTS (SELECT 1 FROM indexed_facts f WHERE f.version_no = s.version_no AND f.source = s.source AND f.id = s.id))
  RETURNING version_no`;

/** Restores versions that are in both the table of leads and the index of facts. */
const FROM_LEADS = `
  INSERT OR IGNORE INTO _versions (${COLUMNS})
  SELECT version_no, source, id, version, 0, ${times('s')}, hash, ${EMPTY}
  FROM indexed_leads s
  WHERE version_no > 0 AND version > 0 AND version_no NOT IN (SELECT version_no FROM _versions)
    AND EXISTS (SELECT 1 FROM indexed_facts f WHERE f.version_no = s.version_no AND f.source = s.source AND f.id = s.id)
  RETURNING version_no`;

/** Whether the version `v` has text. */
const HAS_TEXT = "v.raw <> json_object('id', v.id)";

/**
 * Restores lost erasures from the index of `_erased` and from `_leads`. First deletes each row that records a finished erasure of a lead that
 * has text. A finished erasure leaves no text, so such a row is wrong.
 */
const ERASED = `
  DELETE FROM _erased AS e WHERE finished_at IS NOT NULL
    AND EXISTS (SELECT 1 FROM _versions v WHERE v.source = e.source AND v.id = e.id AND ${HAS_TEXT});
  CREATE TEMP TABLE erased_entries AS
    SELECT erased_no, source, id FROM indexed_erased UNION SELECT erased_no, source, id FROM indexed_leads WHERE erased_no IS NOT NULL;
  INSERT OR IGNORE INTO _erased (erased_no, source, id, erased_at)
  SELECT erased_no, source, id, coalesce((SELECT max(erased_at) FROM _erased), 0) FROM erased_entries s
  WHERE typeof(erased_no) = 'integer' AND typeof(source) = 'text' AND typeof(id) = 'integer'
    AND EXISTS (SELECT 1 FROM _versions v WHERE v.source = s.source AND v.id = s.id)
    AND NOT EXISTS (SELECT 1 FROM _versions v WHERE v.source = s.source AND v.id = s.id AND ${HAS_TEXT});`;

/**
 * Derives leads from versions. A lead whose text was lost gets an empty hash, so that it counts as changed when it is listed and the poll
 * restores the text.
 */
const LEADS = `
  INSERT INTO _leads (source, id, version_no, first_no, version, hash, last_listed_at, erased_no)
  SELECT v.source, v.id, v.version_no, v.first_no, v.version,
    CASE WHEN e.erased_no IS NOT NULL THEN coalesce(s.hash, v.hash)
      WHEN v.version_no IN (SELECT version_no FROM lost_texts) THEN '' ELSE v.hash END,
    CASE WHEN s.last_listed_at BETWEEN 0 AND 253402300799999 THEN s.last_listed_at END, e.erased_no
  FROM (SELECT source, id, version_no, hash, min(version_no) OVER (PARTITION BY source, id) AS first_no, version,
      row_number() OVER (PARTITION BY source, id ORDER BY version DESC) AS place FROM _versions) v
  LEFT JOIN indexed_leads s ON s.source = v.source AND s.id = v.id AND typeof(s.hash) = 'text'
  LEFT JOIN _erased e ON e.source = v.source AND e.id = v.id
  WHERE v.place = 1;`;

/** Removes the content of erased leads that is still in the recovered tables. */
const EMPTY_ERASED = `
  UPDATE _versions AS v SET raw = json_object('id', id), service_slug = NULL, created_at = NULL, readable = NULL, safe_raw = NULL
  WHERE EXISTS (SELECT 1 FROM _erased e WHERE e.source = v.source AND e.id = v.id) AND ${HAS_TEXT};
  UPDATE rejected_leads AS r SET raw = ''
  WHERE raw <> '' AND EXISTS (SELECT 1 FROM _erased e WHERE e.source = r.source AND e.id = r.lead_id);
  DELETE FROM _client_keys AS k WHERE EXISTS (SELECT 1 FROM _erased e WHERE e.source = k.source AND e.id = k.id);
  UPDATE _attempts SET answer = NULL, error = NULL WHERE (answer IS NOT NULL OR error IS NOT NULL) AND delivery_no IN (
    SELECT d.delivery_no FROM _erased e JOIN _versions v ON v.source = e.source AND v.id = e.id
    JOIN _deliveries d ON d.version_no = v.version_no WHERE d.event <> 'erased');
  DELETE FROM lost_texts WHERE version_no IN (SELECT v.version_no FROM _versions v JOIN _erased e ON e.source = v.source AND e.id = v.id);`;

/** Adds lost sources, and records that they have had a complete listing, so that unknown leads in the next listing count as new. */
const SOURCES = `
  INSERT INTO _sources (source, complete_at, first_listed_at)
  SELECT source, max(first_seen_at), min(first_seen_at) FROM _versions v WHERE typeof(source) = 'text' GROUP BY source
  ON CONFLICT DO NOTHING`;
