import type { Dispatcher } from 'undici';

/**
 * Calls `before` when a request has its connection, immediately before undici writes the first byte. If `before` throws, the request fails
 * unsent. The webhook sink uses `before` to record that it sends something, and to check the lease after connecting, which may take long.
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
