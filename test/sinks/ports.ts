/** A port on loopback where nobody listens: reserved (tcpmux), and not in use on any machine that runs tests. */
export const closedPort = 1;
