"""Files of this machine, as Spark writes them, without a program for each.

Hadoop sets the mode of every file and folder that it makes by starting ``chmod``, unless it has its native library,
which PySpark does not bring: 3 ms each, 130 times in a small reconciliation. Java itself can do that. The class below
is compiled by what Spark compiles its queries with, and takes the place of the one that Hadoop keeps for ``file:``
addresses in this Java virtual machine.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

NAME = "rmq.LocalFiles"
SOURCE = """
package rmq;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class LocalFiles extends LocalFileSystem {
  public LocalFiles() {
    super(new Raw());
  }

  public static class Raw extends RawLocalFileSystem {
    public void setPermission(Path path, FsPermission mode) throws IOException {
      if (mode.getStickyBit()) {
        super.setPermission(path, mode);
        return;
      }
      String said = mode.getUserAction().SYMBOL + mode.getGroupAction().SYMBOL + mode.getOtherAction().SYMBOL;
      Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(said));
    }
  }
}
"""


def use_own(session: SparkSession) -> None:
    """From now on. Where that cannot be, all goes on as before, and more slowly."""
    driver: Any = session
    java, settings = driver._jvm, driver._jsc.hadoopConfiguration()
    try:
        hadoop, place = java.org.apache.hadoop, java.java.net.URI("file:///")
        before = hadoop.fs.FileSystem.get(place, settings)
        chosen = settings.get("fs.file.impl") or before.getClass().getName() == NAME
        if chosen or hadoop.util.NativeCodeLoader.isNativeCodeLoaded():
            return
        compiler = java.org.codehaus.janino.SimpleCompiler()
        compiler.cook(SOURCE)
        own = hadoop.conf.Configuration(settings)
        own.setClassLoader(compiler.getClassLoader())
        own.set("fs.file.impl", NAME)
        before.close()  # then it is kept no longer
        hadoop.fs.FileSystem.get(place, own)
    except Exception as error:
        log.debug("files of this machine are written as Hadoop does it: %s", error)
