/** A port on loopback without a listener: reserved (tcpmux), and not in use on any machine that runs tests. */
export const closedPort = 1;
