package tests;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * An object store as Hadoop's clients of one behave (S3A): a file is there when it is closed, and whole; to rename copies
 * and deletes file after file, so that whoever is killed leaves some here and some there; a copy is as old as the copying.
 *
 * The system property objects.left says how many changes are still made; after that nobody reaches the store.
 */
public class ObjectStore extends RawLocalFileSystem {
    public static final URI ROOT = URI.create("objects:///");
    private static final Object COUNTING = new Object();

    public URI getUri() {
        return ROOT;
    }

    public String getScheme() {
        return "objects";
    }

    public boolean hasPathCapability(Path path, String capability) throws IOException {
        return "fs.capability.outputstream.abortable".equals(capability) || super.hasPathCapability(path, capability);
    }

    private static void reach() throws IOException {
        if ("0".equals(System.getProperty("objects.left"))) {
            throw new IOException("nobody reaches the store");
        }
    }

    private static void change() throws IOException {
        synchronized (COUNTING) {
            reach();
            String left = System.getProperty("objects.left");
            if (left != null) {
                System.setProperty("objects.left", String.valueOf(Integer.parseInt(left) - 1));
            }
        }
    }

    public FSDataInputStream open(Path path, int buffer) throws IOException {
        reach();
        return super.open(path, buffer);
    }

    public FileStatus getFileStatus(Path path) throws IOException {
        reach();
        return plain(super.getFileStatus(path));
    }

    public FileStatus[] listStatus(Path path) throws IOException {
        reach();
        FileStatus[] found = super.listStatus(path);
        for (int i = 0; i < found.length; i++) {
            found[i] = plain(found[i]);
        }
        return found;
    }

    /** Without what only files of this machine have. */
    private static FileStatus plain(FileStatus one) {
        long length = one.isDirectory() ? 0 : one.getLen();
        return new FileStatus(length, one.isDirectory(), 1, one.getBlockSize(), one.getModificationTime(), one.getPath());
    }

    public boolean mkdirs(Path path) throws IOException {
        reach();
        return super.mkdirs(path);
    }

    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        return mkdirs(path);
    }

    public FSDataOutputStream create(Path path, boolean over, int buffer, short copies, long block, Progressable said)
            throws IOException {
        reach();
        File file = pathToFile(path);
        if (file.isDirectory() || (file.exists() && !over)) {
            throw new FileAlreadyExistsException(path.toString());
        }
        return new FSDataOutputStream(new Upload(file), statistics);
    }

    public FSDataOutputStream create(Path path, FsPermission permission, boolean over, int buffer, short copies, long block,
            Progressable said) throws IOException {
        return create(path, over, buffer, copies, block, said);
    }

    public FSDataOutputStream createNonRecursive(Path path, FsPermission permission, boolean over, int buffer, short copies,
            long block, Progressable said) throws IOException {
        return create(path, over, buffer, copies, block, said);
    }

    public boolean rename(Path from, Path to) throws IOException {
        reach();
        File source = pathToFile(from);
        File target = pathToFile(to);
        if (!source.exists()) {
            throw new FileNotFoundException(from.toString());
        }
        if (target.isDirectory()) {
            target = new File(target, source.getName());
        } else if (target.exists()) {
            throw new FileAlreadyExistsException(to.toString());
        }
        move(source, target);
        return true;
    }

    private static void move(File source, File target) throws IOException {
        if (source.isDirectory()) {
            target.mkdirs();
            String[] names = source.list();
            java.util.Arrays.sort(names);
            for (int i = 0; i < names.length; i++) {
                move(new File(source, names[i]), new File(target, names[i]));
            }
            source.delete();
        } else {
            put(target, Files.readAllBytes(source.toPath()));
            erase(source);
        }
    }

    static void put(File target, byte[] bytes) throws IOException {
        change();
        target.getParentFile().mkdirs();
        File upload = File.createTempFile(".upload-", "", new File(System.getProperty("java.io.tmpdir")));
        Files.write(upload.toPath(), bytes, new java.nio.file.OpenOption[0]);
        java.nio.file.CopyOption[] over = {java.nio.file.StandardCopyOption.REPLACE_EXISTING};
        Files.move(upload.toPath(), target.toPath(), over);
    }

    private static void erase(File file) throws IOException {
        if (file.isDirectory()) {
            File[] inside = file.listFiles();
            for (int i = 0; i < inside.length; i++) {
                erase(inside[i]);
            }
        } else {
            change();
        }
        file.delete();
    }

    public boolean delete(Path path, boolean recursive) throws IOException {
        reach();
        File file = pathToFile(path);
        if (!file.exists()) {
            return false;
        }
        if (!recursive && file.isDirectory() && file.list().length > 0) {
            throw new IOException("not empty: " + path);
        }
        erase(file);
        return true;
    }

    private static class Upload extends OutputStream {
        private final File file;
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private boolean closed = false;

        Upload(File file) {
            this.file = file;
        }

        public void write(int one) {
            bytes.write(one);
        }

        public void write(byte[] several, int from, int length) {
            bytes.write(several, from, length);
        }

        public void close() throws IOException {
            if (!closed) {
                closed = true;
                put(file, bytes.toByteArray());
            }
        }
    }
}

class ObjectStoreOfContexts extends DelegateToFileSystem {
    ObjectStoreOfContexts(URI uri, Configuration settings) throws IOException, java.net.URISyntaxException {
        super(uri, new ObjectStore(), settings, "objects", false);
    }

    public int getUriDefaultPort() {
        return -1;
    }
}
