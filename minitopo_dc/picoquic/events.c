/* What happens on a connection, kept until Python has read it. */
#include "endpoint.h"

void add_event(mdc_endpoint *endpoint, int kind, uint64_t value, size_t offset, size_t length)
{
    mdc_event *last;

    if (kind == MDC_DATA && endpoint->state.event_count) { /* more of the same stream */
        last = &endpoint->events[endpoint->state.event_count - 1];
        if (last->kind == MDC_DATA && last->value == value) {
            last->length += length;
            return;
        }
    }
    if (make_room((void **)&endpoint->events, &endpoint->event_room, endpoint->state.event_count + 1,
                  sizeof(mdc_event))) {
        endpoint->failed = 1;
        return;
    }
    endpoint->events[endpoint->state.event_count++] = (mdc_event){kind, value, offset, length};
    endpoint->state.events = endpoint->events;
    endpoint->state.notable_count += kind != MDC_DATA;
}

/* Of a server's connection nothing can be asked afterwards: picoquic deletes it. */
static void be_gone(mdc_endpoint *endpoint, uint64_t by)
{
    if (endpoint->is_gone)
        return;
    endpoint->local_error = picoquic_get_local_error(endpoint->connection);
    endpoint->remote_error = picoquic_get_remote_error(endpoint->connection);
    endpoint->application_error = picoquic_get_application_error(endpoint->connection);
    add_event(endpoint, MDC_CLOSED, by, 0, 0);
    endpoint->is_gone = 1;
}

/* Whether a server's connection has got so far that it is one. Before, it may be garbage that looked
 * like the beginning of one, or a client that did not like the certificate: picoquic forgets it. */
static int is_beginning(picoquic_call_back_event_t event)
{
    return event == picoquic_callback_almost_ready || event == picoquic_callback_ready ||
           event == picoquic_callback_stream_data || event == picoquic_callback_stream_fin;
}

int on_event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
             picoquic_call_back_event_t event, void *context, void *stream_context)
{
    mdc_endpoint *endpoint = context;
    (void)stream_context;

    if (endpoint->connection == NULL && !endpoint->is_gone && is_beginning(event))
        endpoint->connection = connection; /* a server's first */
    if (connection != endpoint->connection)
        return 0;
    switch (event) {
    case picoquic_callback_stream_data:
        add_input(endpoint, MDC_DATA, stream, bytes, length);
        break;
    case picoquic_callback_stream_fin:
        add_input(endpoint, MDC_DATA, stream, bytes, length);
        add_event(endpoint, MDC_FIN, stream, 0, 0);
        break;
    case picoquic_callback_stream_reset:
    case picoquic_callback_stop_sending:
        add_event(endpoint, MDC_RESET, stream, 0, 0);
        break;
    case picoquic_callback_datagram:
        add_input(endpoint, MDC_DATAGRAM_FRAME, 0, bytes, length);
        break;
    case picoquic_callback_prepare_to_send:
        fill(endpoint, stream, bytes, length);
        break;
    case picoquic_callback_ready:
        add_event(endpoint, MDC_READY, 0, 0, 0);
        break;
    case picoquic_callback_stateless_reset:
        be_gone(endpoint, MDC_STATELESS_RESET);
        break;
    case picoquic_callback_close:
        be_gone(endpoint, connection->local_error ? MDC_LOCALLY : MDC_BY_PEER);
        break;
    case picoquic_callback_application_close:
        be_gone(endpoint, MDC_BY_PEER_APPLICATION);
        break;
    case picoquic_callback_path_available:
        add_event(endpoint, MDC_PATH_AVAILABLE, stream, 0, 0);
        break;
    case picoquic_callback_path_suspended:
        add_event(endpoint, MDC_PATH_SUSPENDED, stream, 0, 0);
        break;
    case picoquic_callback_path_deleted:
        keep_deleted(endpoint, stream);
        break;
    default:
        break;
    }
    return endpoint->failed ? -1 : 0;
}
