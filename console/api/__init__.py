"""REST under `/api/v1`, one module per resource."""

from ninja import NinjaAPI, Swagger

from console.api.health import router as health

api = NinjaAPI(
    title="RMQ Console",
    version="1",
    description="What an operator can do, for automation.",
    docs=Swagger(),
    urls_namespace="api-1",
)
api.add_router("/health", health, tags=["health"])
