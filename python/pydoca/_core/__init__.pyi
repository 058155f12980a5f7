# The engine as the bindings give it, a file for each noun; where it raises, it raises subclasses of pydoca.DocaError.

from typing import Any

from pydoca._core.awaitable import *
from pydoca._core.batch import *
from pydoca._core.buf import *
from pydoca._core.capabilities import *
from pydoca._core.comch import *
from pydoca._core.compress import *
from pydoca._core.context import *
from pydoca._core.device import *
from pydoca._core.dma import *
from pydoca._core.dpa import *
from pydoca._core.faults import *
from pydoca._core.graph import *
from pydoca._core.log import *
from pydoca._core.memory import *
from pydoca._core.mmap import *
from pydoca._core.mmap_advise import *
from pydoca._core.progress_engine import *
from pydoca._core.rdma import *
from pydoca._core.rdma_bridge import *
from pydoca._core.representor import *
from pydoca._core.sha import *
from pydoca._core.sim import *
from pydoca._core.status import *
from pydoca._core.sync_event import *
from pydoca._core.task import *
from pydoca._core.trace import *
from pydoca._core.types import *
from pydoca._core.virtual_time import *
from pydoca._core.workq import *

def attach(**objects: Any) -> None: ...
def version() -> str: ...
def version_runtime() -> str: ...
def publish(object: Any, module_name: str) -> None: ...

__version__: str
__fortify_level__: int
