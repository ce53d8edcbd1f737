"""The SDK's request handler over the calls of this door: protobuf in, JSON of the protocol to and fro, protobuf out.

The SDK's own execution of agents, its task stores and its event queues stay unused: the ledger is the only memory. Imported with
the first call, because protobuf and its companions are heavy.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, TypeVar

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.request_handler import validate_request_params
from a2a.types import a2a_pb2
from a2a.utils.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message as ProtoMessage

from ringback.a2a.calls import Calls, Json
from ringback.domain import errors
from ringback.views.a2a import card

T = TypeVar("T", bound=ProtoMessage)
PAGE = 50
UPDATES: dict[str, type[ProtoMessage]] = {
    "task": a2a_pb2.Task,
    "statusUpdate": a2a_pb2.TaskStatusUpdateEvent,
    "artifactUpdate": a2a_pb2.TaskArtifactUpdateEvent,
}


class Handler(RequestHandler):
    """Every method of the protocol; push notifications are not offered."""

    def __init__(self, version: str) -> None:
        self._version = version

    @validate_request_params
    async def on_message_send(
        self, params: a2a_pb2.SendMessageRequest, context: ServerCallContext
    ) -> a2a_pb2.Task | a2a_pb2.Message:
        """Start a run, or answer one; waits for its end for a while unless it shall not."""
        _refuse_push(params)
        waits = not params.configuration.return_immediately
        return await _told(a2a_pb2.Task, _calls(context).send(_json(params.message), waits=waits))

    @validate_request_params
    async def on_message_send_stream(
        self, params: a2a_pb2.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """The same, as a stream."""
        _refuse_push(params)
        async with aclosing(_streamed(_calls(context).stream(_json(params.message)))) as events:
            async for event in events:
                yield event

    @validate_request_params
    async def on_get_task(self, params: a2a_pb2.GetTaskRequest, context: ServerCallContext) -> a2a_pb2.Task | None:
        """One look."""
        return await _told(a2a_pb2.Task, _calls(context).get(params.id))

    @validate_request_params
    async def on_cancel_task(
        self, params: a2a_pb2.CancelTaskRequest, context: ServerCallContext
    ) -> a2a_pb2.Task | None:
        """Ask for its end."""
        return await _told(a2a_pb2.Task, _calls(context).cancel(params.id))

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: a2a_pb2.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """What happens to a task from now on."""
        async with aclosing(_streamed(_calls(context).subscribe(params.id))) as events:
            async for event in events:
                yield event

    @validate_request_params
    async def on_list_tasks(
        self, params: a2a_pb2.ListTasksRequest, context: ServerCallContext
    ) -> a2a_pb2.ListTasksResponse:
        """Tasks of the project, newest first."""
        if params.HasField("status_timestamp_after"):
            raise InvalidParamsError("tasks can't be listed by the time of their status")
        state = None if not params.status else a2a_pb2.TaskState.Name(params.status)
        limit = params.page_size if params.HasField("page_size") else PAGE
        with _translated():
            tasks, cursor = await _calls(context).tasks(
                state=state,
                cursor=params.page_token or None,
                limit=limit,
                with_artifacts=params.include_artifacts,
                context_id=params.context_id or None,
            )
        body = {"tasks": tasks, "nextPageToken": cursor or "", "pageSize": limit}
        return _parsed(body, a2a_pb2.ListTasksResponse)

    async def on_get_extended_agent_card(
        self, params: a2a_pb2.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> a2a_pb2.AgentCard:
        """The card with the tools of the project, for members."""
        with _translated():
            skills = await _calls(context).skills()
        body = card(context.state["url"], self._version)
        return _parsed({**body, "skills": skills or body["skills"]}, a2a_pb2.AgentCard)

    async def on_create_task_push_notification_config(
        self, params: a2a_pb2.TaskPushNotificationConfig, context: ServerCallContext
    ) -> a2a_pb2.TaskPushNotificationConfig:
        """Not offered."""
        raise PushNotificationNotSupportedError

    async def on_get_task_push_notification_config(
        self, params: a2a_pb2.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> a2a_pb2.TaskPushNotificationConfig:
        """Not offered."""
        raise PushNotificationNotSupportedError

    async def on_list_task_push_notification_configs(
        self, params: a2a_pb2.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> a2a_pb2.ListTaskPushNotificationConfigsResponse:
        """Not offered."""
        raise PushNotificationNotSupportedError

    async def on_delete_task_push_notification_config(
        self, params: a2a_pb2.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Not offered."""
        raise PushNotificationNotSupportedError


def _calls(context: ServerCallContext) -> Calls:
    calls: Calls = context.state["calls"]
    return calls


def _refuse_push(params: a2a_pb2.SendMessageRequest) -> None:
    if params.configuration.HasField("task_push_notification_config"):
        raise PushNotificationNotSupportedError


def _json(message: ProtoMessage) -> Json:
    body: Json = MessageToDict(message)
    return body


async def _told(kind: type[T], asked: Awaitable[Json]) -> T:
    with _translated():
        return _parsed(await asked, kind)


def _parsed(body: Json, kind: type[T]) -> T:
    message: T = kind()
    ParseDict(body, message)
    return message


async def _streamed(updates: AsyncGenerator[tuple[str, Json]]) -> AsyncGenerator[Any]:
    with _translated():
        async with aclosing(updates):
            async for name, body in updates:
                yield _parsed(body, UPDATES[name])


@contextmanager
def _translated() -> Iterator[None]:
    """The core's refusals as errors of the protocol."""
    try:
        yield
    except errors.RingbackError as error:
        raise _error_of(error) from None


def _error_of(error: errors.RingbackError) -> A2AError:
    facts: dict[str, Any] = {"code": error.code, "retryable": error.retryable}
    match error:
        case errors.NotFoundError(kind="run" | "interaction"):
            return TaskNotFoundError()
        case errors.InvalidInputError():
            flaws = [{"field": flaw.pointer, "message": flaw.detail} for flaw in error.flaws]
            return InvalidParamsError(str(error), {**facts, "errors": flaws})
        case errors.NotFoundError():
            return InvalidParamsError(str(error), facts)
        case errors.IllegalTransitionError() | errors.AlreadyAnsweredError():
            return UnsupportedOperationError(str(error), facts)
        case _ if error.retryable:
            return InternalError(str(error), facts)
        case _:
            return InvalidRequestError(str(error), facts)
