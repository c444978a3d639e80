import type { Dispatcher } from 'undici';

/**
 * Calls `before` when a request has its connection, immediately before undici writes the first byte. If `before` throws, the request
 * fails unsent. The webhook sink learns by it whether it sent anything, and checks the lease after the time that connecting took.
 */
export function whenConnected(before: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch(options, {
      onRequestStart: (controller, context) => {
        before();
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...parts) => handler.onRequestUpgrade?.(...parts),
      onResponseStart: (...parts) => handler.onResponseStart?.(...parts),
      onResponseData: (...parts) => handler.onResponseData?.(...parts),
      onResponseEnd: (...parts) => handler.onResponseEnd?.(...parts),
      onResponseError: (...parts) => handler.onResponseError?.(...parts),
    });
}
