// By hand: the first use of Intl costs the process 10 MB for good.

/** `12,345`. */
export function counted(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** `1 lead`, `12,345 leads`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${counted(count)} ${count === 1 ? one : many}`;
}

/** `182 ms`, `1.4 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`: two units at most. */
export function durationOf(ms: number): string {
  if (ms < 999.5) return `${Math.round(Math.max(0, ms))} ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return twoUnits(seconds, 60, 'min', 's');
  if (seconds < 86_370) return twoUnits(Math.round(seconds / 60), 60, 'h', 'min');
  return twoUnits(Math.round(seconds / 3600), 24, 'd', 'h');
}

function twoUnits(total: number, per: number, large: string, small: string): string {
  const rest = total % per;
  return `${Math.floor(total / per)} ${large}${rest > 0 ? ` ${rest} ${small}` : ''}`;
}

/** How long ago a time is, as durations are told; `now` when it lies ahead by the difference of two clocks. */
export function agoOf(at: string, now: Date): string {
  const ms = now.getTime() - Date.parse(at);
  return ms < 1000 ? 'now' : `${durationOf(ms < 60_000 ? Math.floor(ms / 1000) * 1000 : ms)} ago`;
}

/** `812 B`, `64 kB`, `1.2 MB`, `3 GB`. */
export function bytesOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  return bytes < 999_950_000
    ? `${Number((bytes / 1e6).toFixed(1))} MB`
    : `${Number((bytes / 1e9).toFixed(1))} GB`;
}

/** `20 Nov 2026, 10:00:05 UTC`: what stands there until a script writes it in the reader's zone. */
export function utcOf(at: string): string {
  const [year, month, day] = at.slice(0, 10).split('-');
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}, ${at.slice(11, 19)} UTC`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
