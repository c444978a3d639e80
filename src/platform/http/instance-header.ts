/**
 * Header of every answer from the admin server. It contains the id of the server's process, by which a command recognises the right
 * leadsync.
 */
export const INSTANCE_HEADER = 'x-leadsync-instance';

/**
 * Header of a request from a command that has already recorded its action in the audit log. It contains a secret that only those who may read the
 * data directory know.
 */
export const RECORDED_HEADER = 'x-leadsync-recorded';
