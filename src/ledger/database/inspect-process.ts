import Database from 'better-sqlite3';
import { endWithParent } from '../../platform/process/end-with-parent.ts';

// The process that looks for damage in a ledger: SQLite cannot be interrupted while it looks, but a process can be ended.

/** How many findings are told. */
const TOLD = 5;

const [file = '', how, parent] = process.argv.slice(2);
endWithParent(Number(parent));
process.send?.(findings(), () => process.disconnect());

/** What is wrong with the file, in SQLite's words; they name tables and pages, and no content. */
function findings(): readonly string[] {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const pragma = how === 'whole' ? 'integrity_check' : 'quick_check';
    const found = db.prepare<[], string>(`PRAGMA ${pragma}(${TOLD})`).pluck().all();
    const broken = found.filter((one) => one !== 'ok');
    if (broken.length > 0 || how !== 'whole') return broken;
    const lost = db
      .prepare<[], string>('SELECT DISTINCT "table" FROM pragma_foreign_key_check')
      .pluck()
      .all();
    return lost.map((table) => `rows of ${table} name rows that are gone`);
  } catch (error) {
    return [String((error as { code?: unknown }).code ?? 'it cannot be read')];
  } finally {
    db?.close();
  }
}
